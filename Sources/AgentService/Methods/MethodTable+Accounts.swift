import AgentLogin
import AgentProtocol
import AgentSession

extension MethodTable {
  /// Registers login, logout and the methods for stored accounts.
  mutating func registerAccounts(_ registry: SessionRegistry) {
    register(LoginMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await registry.login(parameters)
    }
    register(LogoutMethod.self) { parameters, _ in try await registry.logout(parameters) }
    register(StatusMethod.self) { parameters, _ in try await registry.status(parameters) }
    register(AccountRemoveMethod.self) { parameters, _ in
      try await registry.removeAccount(parameters)
      return EmptyObject()
    }
    register(AccountPasswdMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await registry.changePassword(parameters)
    }
    register(AccountDeleteMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await registry.deleteAccount(parameters)
    }
    register(TokenRevokeMethod.self, of: registry) { session, parameters in
      .init(revoked: try await session.revokeToken(within: parameters.timeout))
    }
  }
}

extension ConnectionOptions {
  /// Throws for an invalid proxy address. `validate()` cannot check it, since `AgentProtocol` does not import the
  /// library that parses such addresses.
  func requireProxy() throws(RPCError) {
    do { try checkProxy() } catch { throw .invalidParameter("options.proxy") }
  }
}
