import AgentProtocol

extension MethodTable {
  /// Questions to the account's server, and profiles.
  mutating func registerServer(_ registry: SessionRegistry) {
    register(ServerTimeMethod.self, of: registry) { session, question in
      try await session.serverTime(question)
    }
    register(ServerPingMethod.self, of: registry) { session, question in
      try await session.serverPing(question)
    }
    register(ServerVersionMethod.self, of: registry) { session, question in
      try await session.serverVersion(question)
    }
    register(ServerInfoMethod.self, of: registry) { session, question in
      try await session.serverInfo(question)
    }
    register(ProfileGetMethod.self, of: registry) { session, parameters in
      try await session.profile(parameters)
    }
    register(ProfileSetMethod.self, of: registry) { session, parameters in
      try await session.changeProfile(parameters)
    }
  }
}
