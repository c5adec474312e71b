import AgentProtocol
import FoundationEssentials
import XMPPStanza

// What a session reads from the account store and leaves there.

extension AccountStore {
  /// The stored entry of an account.
  func entry(_ account: JID) async throws(Failure) -> Account? {
    try await inBackground { store throws(Failure) in try store.load()[account.description] }
  }

  /// Changes the entry of an account, if there is one.
  func change(_ account: JID, _ change: @escaping @Sendable (inout Account) -> Void) async throws(Failure) {
    try await inBackground { store throws(Failure) in
      try store.update { file throws(Failure) in
        guard var entry = file[account.description] else { return }
        change(&entry)
        file[account.description] = entry
      }
    }
  }

  /// A login succeeded: the only thing that makes an entry.
  func loggedIn(_ plan: LoginPlan, presence: DesiredPresence) async throws(Failure) {
    try await inBackground { store throws(Failure) in
      try store.update { file throws(Failure) in
        let name = plan.account.description
        var entry = file[name] ?? Account(account: name, domain: plan.account.domain)
        entry.loggedIn(
          password: plan.password, command: plan.passwordCommand, policy: plan.store, server: plan.server)
        entry.options = plan.options
        entry.presence = presence
        entry.noPresence = plan.sendsPresence ? nil : true
        entry.lastState = nil
        file[name] = entry
        file.last = name
      }
    }
  }

  /// A login failed or a session ended: clears what the failure table says, and remembers why.
  ///
  /// - Parameter state: the state the account is left in; `nil` where another session of it goes on.
  func failed(_ failure: Failure, state: SessionState?, account: JID, plan: LoginPlan?) async throws(Failure)
  {
    try await change(account) { entry in
      // A password typed now that is the stored one was refused as the stored one.
      let isStored = plan?.isGiven != true || plan?.password == entry.password
      entry.failed(failure, with: isStored ? .stored : .given)
      if let state { entry.lastState = LastState(state: state, cause: failure, time: Timestamp.now()) }
    }
  }

  func remove(_ account: JID) async throws(Failure) {
    try await inBackground { store throws(Failure) in
      try store.update { file throws(Failure) in file[account.description] = nil }
    }
  }
}

extension Account {
  /// The stored secret, or what the stored command prints now.
  func secret() async throws(Failure) -> Secret? {
    if let password { return password }
    guard let passwordCommand else { return nil }
    return try await CredentialCommand(passwordCommand).secret()
  }
}

extension SessionStatus {
  /// The state of an account that has no session: `kicked` or `loginFailed` with its cause, else `offline`.
  public init(stored account: Account) {
    let last = account.lastState.flatMap { [.kicked, .loginFailed].contains($0.state) ? $0 : nil }
    self.init(account: account.account, state: last?.state ?? .offline)
    since = account.lastState?.time
    cause = last?.cause
    presence = PresenceStatus(stored: account)
  }
}

extension PresenceStatus {
  /// The desired presence of an account that is not online.
  public init(stored account: Account) {
    var intent = account.presence.map(PresenceIntent.init) ?? PresenceIntent()
    _ = intent.expire(at: Date().timeIntervalSince1970)
    let value = intent.effective
    self.init(show: value.show, status: value.status, priority: value.priority, applied: false)
  }
}

extension DesiredPresence {
  /// Holds are not stored: they end with whoever holds them.
  init(_ intent: PresenceIntent) {
    let value = intent.timed?.value ?? intent.base
    self.init(show: value.show, status: value.status, priority: value.priority)
    if let timed = intent.timed {
      until = Timestamp.text(Date(timeIntervalSince1970: timed.until))
      before = Availability(
        show: intent.base.show, status: intent.base.status, priority: intent.base.priority)
    }
  }
}

extension PresenceIntent {
  init(_ stored: DesiredPresence) {
    let value = Value(show: stored.show, status: stored.status, priority: stored.priority)
    guard let until = stored.until.flatMap(Timestamp.date), let before = stored.before else {
      self.init(base: value)
      return
    }
    self.init(
      base: Value(show: before.show, status: before.status, priority: before.priority),
      timed: Timed(value: value, until: until.timeIntervalSince1970))
  }
}
