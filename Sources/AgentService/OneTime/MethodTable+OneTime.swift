import AgentErrand
import AgentLogin
import AgentProtocol
import AgentStore
import Glibc
import XMPPStanza

extension MethodTable {
  /// The methods of a one-time agent: all that need no session.
  init(_ accounts: StoredAccounts, _ agent: OneTimeAgent) {
    self.init()
    register(AgentStatusMethod.self) { _, _ in
      AgentStatusMethod.Result(
        version: Version.current, pid: Int(getpid()), started: Timestamp.now(), accounts: 0, online: 0,
        clients: 1)
    }
    register(QuestionAnswerMethod.self) { parameters, _ in
      agent.give(answer: parameters.answer)
      return EmptyObject()
    }
    registerStored(accounts)
    registerStoredAccounts(accounts)
    registerStoredTokens(accounts)
    registerStoredDevices(accounts)
    registerStoredMessages(accounts, agent)
    let errands = Errands(accounts: accounts, agent: agent)
    registerErrands(errands)
    registerUserDevices(errands)
  }

  /// Registers the methods that a session answers in a running agent.
  private mutating func registerStored(_ accounts: StoredAccounts) {
    register(StatusMethod.self) { parameters, _ in
      try accounts.status(account: parameters.account, all: parameters.all)
    }
    register(PresenceGetMethod.self) { parameters, _ in try accounts.presence(account: parameters.account) }
    register(LogoutMethod.self) { parameters, _ in try await accounts.logout(parameters) }
    register(ContactsListMethod.self) { parameters, _ in
      try accounts.contacts(parameters.account, after: parameters.after)
    }
    register(ContactRequestsMethod.self) { parameters, _ in try accounts.requests(parameters.account) }
    register(ContactsBlockedMethod.self) { parameters, _ in try accounts.blocked(parameters.account) }
    register(MessageAcceptedMethod.self) { parameters, _ in
      try accounts.accepted(parameters.ids, account: parameters.account)
    }
    register(RecipientsResolveMethod.self) { parameters, _ in
      try accounts.resolve(parameters.words, account: parameters.account)
    }
    register(AppearancesMethod.self) { parameters, _ in
      let appearances = try accounts.appearances(parameters.account)
      return parameters.jids.map { appearances.appearance(of: $0) }
    }
    register(RecipientsNormaliseMethod.self) { parameters, _ in
      try parameters.jids.map { try JID(given: $0).description }
    }
  }

  private mutating func registerStoredAccounts(_ accounts: StoredAccounts) {
    register(AccountListMethod.self) { _, _ in try accounts.list() }
    register(AccountUseMethod.self) { parameters, _ in try accounts.use(parameters.account) }
    register(AccountLastMethod.self) { _, _ in .init(account: try accounts.last()) }
    register(AccountResolveMethod.self) { parameters, _ in try accounts.resolve(parameters) }
    register(AccountAllowAutoMethod.self) { parameters, _ in
      try accounts.allowAuto(parameters.account, forced: parameters.forced)
      return EmptyObject()
    }
    register(AccountTrustMethod.self) { parameters, _ in try accounts.trust(parameters) }
    register(AccountImportMethod.self) { parameters, _ in try accounts.importAccounts(parameters) }
    register(AccountRemoveMethod.self) { parameters, _ in
      try accounts.remove(parameters.account)
      return EmptyObject()
    }
  }

  private mutating func registerStoredTokens(_ accounts: StoredAccounts) {
    register(TokenListMethod.self) { parameters, _ in
      try accounts.tokens(of: parameters.account, all: parameters.all)
    }
    register(TokenPrintMethod.self) { parameters, _ in
      .init(token: try accounts.token(of: parameters.account))
    }
    register(TokenRevokeMethod.self) { parameters, _ in
      let account = try accounts.load().account(parameters.account)
      return .init(revoked: try await accounts.revoke(account, timeout: parameters.timeout))
    }
  }

  private mutating func registerStoredDevices(_ accounts: StoredAccounts) {
    register(DevicesSelfMethod.self) { parameters, _ in
      try accounts.ownDevice(of: parameters.account, name: parameters.name)
    }
    register(DevicesPolicyMethod.self) { change, _ in try accounts.devicePolicy(change) }
  }

  private mutating func registerStoredMessages(_ accounts: StoredAccounts, _ agent: OneTimeAgent) {
    register(HistoryReadMethod.self) { parameters, _ in
      let lines = ItemLines(of: agent)
      let appearances = try parameters.hasAppearances ? accounts.appearances(parameters.account) : nil
      try accounts.readHistory(parameters) { event in
        if let appearances {
          lines.add(Shown(event, appearances.appearance(of: event)))
        } else {
          lines.add(event)
        }
      }
      lines.flush()
      return EmptyObject()
    }
    register(ThreadsListMethod.self) { parameters, _ in
      let lines = ItemLines(of: agent)
      let appearances = try parameters.hasAppearances ? accounts.appearances(parameters.account) : nil
      lines.add(try accounts.threads(parameters), of: \.jid, appearances)
      lines.flush()
      return EmptyObject()
    }
    register(ConversationsListMethod.self) { parameters, _ in
      let lines = ItemLines(of: agent)
      let appearances = try parameters.hasAppearances ? accounts.appearances(parameters.account) : nil
      lines.add(try accounts.conversations(parameters), of: \.jid, appearances)
      lines.flush()
      return EmptyObject()
    }
  }

  private mutating func registerErrands(_ errands: Errands) {
    register(ConnectionCheckMethod.self) { options, _ in
      try options.checkProxy()
      return EmptyObject()
    }
    register(ServerMechanismsMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await errands.mechanisms(parameters)
    }
    register(AccountRegisterMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await errands.register(parameters)
    }
    register(MessageSendDirectlyMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      try await errands.send(parameters)
      return EmptyObject()
    }
    register(AccountPasswdMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await errands.changePassword(parameters)
    }
    register(AccountDeleteMethod.self) { parameters, _ in
      try parameters.options.requireProxy()
      return try await errands.delete(parameters)
    }
  }

  private mutating func registerUserDevices(_ errands: Errands) {
    register(DevicesListMethod.self) { parameters, _ in
      var login = LoginMethod.Parameters(account: try errands.account(parameters.account))
      login.timeout = parameters.timeout
      return .init(devices: try await errands.devices(login).list())
    }
    register(UserDevicesListMethod.self) { login, _ in
      .init(devices: try await errands.devices(login).list())
    }
    register(DevicesKickMethod.self) { parameters, _ in try await errands.kick(parameters) }
    register(UserDevicesKickMethod.self) { parameters, _ in
      let devices = try await errands.devices(parameters.login)
      return .init(
        outcomes: try await devices.kick(
          parameters.resource, newPassword: parameters.newPassword.map { .init($0) }))
    }
  }
}
