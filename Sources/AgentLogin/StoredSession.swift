import AgentProtocol
import AgentStore
import AgentSystem
import FoundationEssentials
import UserCommand
import XMPPSASL
import XMPPStanza

// The parts of the account store that a session uses.

extension AccountStore {
  /// The stored entry of an account.
  package func entry(_ account: JID) async throws(Failure) -> Account? {
    try await inBackground { store throws(Failure) in try store.load()[account.description] }
  }

  /// Changes the entry of an account, if there is one.
  package func change(_ account: JID, _ change: @escaping @Sendable (inout Account) -> Void)
    async throws(Failure)
  {
    try await updateInBackground { file in
      guard var entry = file[account.description] else { return }
      change(&entry)
      file[account.description] = entry
    }
  }

  /// Stores a successful login, which is what creates an entry. An anonymous account gets none.
  ///
  /// - Returns: the policy in effect, where less of the secret is stored than was asked for.
  @discardableResult
  package func loggedIn(_ plan: LoginPlan, presence: DesiredPresence) async throws(Failure) -> StorePolicy? {
    if plan.credential.kind == .anonymous { return nil }
    return try await updateInBackground { file in
      let name = plan.account.description
      let stored = file[name]
      var entry = stored ?? Account(account: name, domain: plan.account.domain)
      // The user who logs in is not away.
      if stored == nil, file.idle != .disconnect { entry.idle = file.idle }
      entry.loggedIn(
        plan.credential, policy: plan.store, token: plan.deviceToken, scramKeys: plan.scramKeys,
        server: plan.server)
      entry.options = plan.options
      entry.deviceId = plan.deviceId
      entry.lastLogin = plan.lastLogin
      entry.maxRetries = plan.maxRetries
      entry.device = plan.device == DeviceIdentity() ? nil : plan.device
      entry.onKick = plan.onKick == .stop ? nil : plan.onKick
      entry.onAuthFailure = plan.onAuthFailure
      entry.presence = presence
      entry.noPresence = plan.sendsPresence ? nil : true
      entry.lastState = nil
      file[name] = entry
      file.last = name
      return entry.shortfall
    }
  }

  /// Stores a failed login or the end of a session: deletes what the failure table names, and records the cause.
  ///
  /// - Parameters:
  ///   - state: the resulting state of the account; nil where another session of it continues.
  ///   - mechanism: the last mechanism that was tried.
  ///   - comesBack: whether the session reconnects, so that no secret is deleted.
  ///   - lastSeen: when the server was last heard from (RFC 3339).
  package func failed(
    _ failure: Failure, state: SessionState?, account: JID, plan: LoginPlan?, mechanism: SASLMechanismName?,
    comesBack: Bool = false, lastSeen: String? = nil
  ) async throws(Failure) {
    try await change(account) { entry in
      // A typed password that equals the stored one counts as the stored one.
      let isStored = plan?.isGiven != true || plan?.credential.isSame(as: entry.credential) == true
      let source: Account.SecretSource =
        mechanism?.isDeviceToken == true || failure.name == .sessionExpired
        ? .deviceToken : isStored ? .stored : .given
      if !comesBack { entry.failed(failure, with: source) }
      if let state, !entry.awaitsLogin {
        var last = LastState(state: state, cause: failure, time: Timestamp.now())
        last.lastSeen = lastSeen ?? entry.lastState?.lastSeen
        entry.lastState = last
      }
    }
  }

  /// Stores that the user has logged out.
  package func loggedOut(_ account: JID, _ parameters: LogoutMethod.Parameters) async throws(Failure) {
    try await change(account) { $0.loggedOut(parameters) }
  }

  /// Stores the failure of a first login in the background in an entry without a secret.
  package func leaveTrace(of failure: Failure, _ plan: LoginPlan) async throws(Failure) {
    if plan.credential.kind == .anonymous { return }
    try await updateInBackground { file in
      let name = plan.account.description
      guard file[name] == nil else { return }
      var entry = Account(account: name, domain: plan.account.domain)
      entry.credential.kind = plan.credential.kind
      entry.credential.authcid = plan.credential.authcid
      entry.store = plan.store ?? .password
      entry.options = plan.options
      entry.deviceId = plan.deviceId
      entry.lastState = LastState(state: .loginFailed, cause: failure, time: Timestamp.now())
      file[name] = entry
      file.last = name
    }
  }

  package func remove(_ account: JID) async throws(Failure) {
    try await updateInBackground { $0[account.description] = nil }
  }
}

extension Account {
  /// The stored password, or the current output of the stored command.
  package func secret() async throws(Failure) -> Secret? {
    if let password { return password }
    guard let passwordCommand else { return nil }
    return try await CredentialCommand(passwordCommand).secret()
  }
}

extension SessionStatus {
  /// The state of an account without a session: `kicked` or `loginFailed` with its cause, otherwise `offline`.
  package init(stored account: Account) {
    let last = account.lastState.flatMap { [.kicked, .loginFailed].contains($0.state) ? $0 : nil }
    self.init(account: account.account, state: last?.state ?? .offline)
    since = account.lastState?.time
    lastSeen = account.lastState?.lastSeen
    cause = last?.cause
    presence = PresenceStatus(stored: account)
  }
}

extension SessionStatus {
  /// This state, or the stored one where this agent's session was never used.
  package func completed(by stored: Account) -> SessionStatus {
    let last = SessionStatus(stored: stored)
    guard state == .offline, cause == nil, last.state != .offline else { return self }
    var status = self
    (status.state, status.cause, status.since) = (last.state, last.cause, last.since)
    status.lastSeen = lastSeen ?? last.lastSeen
    return status
  }
}

extension PresenceStatus {
  /// The desired presence of an account that is not online.
  package init(stored account: Account) {
    var intent = account.presence.map(PresenceIntent.init) ?? PresenceIntent()
    _ = intent.expire(at: Date().timeIntervalSince1970)
    let value = intent.effective
    self.init(show: value.show, status: value.status, priority: value.priority, applied: false)
  }
}

extension DesiredPresence {
  /// Holds are not stored, because they end with their clients.
  package init(_ intent: PresenceIntent) {
    if let timed = intent.timed {
      let until = Timestamp.text(Date(timeIntervalSince1970: timed.until))
      self.init(timed.value, until: until, before: intent.base)
    } else {
      self.init(intent.base)
    }
  }
}

extension PresenceIntent {
  package init(_ stored: DesiredPresence) {
    if let until = stored.until.flatMap(Timestamp.date), let before = stored.before {
      let timed = Timed(value: stored.availability, until: until.timeIntervalSince1970)
      self.init(base: before, timed: timed)
    } else {
      self.init(base: stored.availability)
    }
  }
}
