import AgentProtocol
import XMPPSASL

/// What a login, its failure and a logout change in the stored account.
extension Account {
  /// Where the secret of a login came from.
  package enum SecretSource: Sendable, Equatable {
    /// Given with this login: the stored one has not been tried.
    case given
    case stored
    /// The server's own token for this device, which is always a stored one.
    case deviceToken
  }

  /// The login succeeded: what `policy` allows is kept, the rest is forgotten.
  ///
  /// - Parameters:
  ///   - credential: what was accepted, or what a device token stood in for.
  ///   - policy: `nil` keeps the account's own, which is `command` where a password command was given and `password`
  ///     else.
  ///   - token: the server's token for this device, if there is one now.
  ///   - scramKeys: keys that the login has used or derived.
  package mutating func loggedIn(
    _ credential: LoginCredential, policy: StorePolicy? = nil, token: DeviceToken? = nil,
    scramKeys: [SCRAMKeys] = [], server: KnownServer? = nil
  ) {
    store = policy ?? (credential.passwordCommand != nil ? .command : store)
    // A stored command is no help to a password typed now.
    if policy == nil, store == .command, credential.passwordCommand ?? credential.tokenCommand == nil {
      store = .password
    }
    self.credential = credential.kept(by: store)
    self.token = store == .password || store == .token ? token : nil
    self.scramKeys = store == .password || store == .keys ? scramKeys : []
    self.server = server ?? self.server
    isLogin = true
  }

  /// What is really kept where `store` asks for something that the login has not given; nil where all of it is.
  package var shortfall: StorePolicy? {
    switch store {
    case .token where token == nil: StorePolicy.none
    case .keys where scramKeys.isEmpty: StorePolicy.none
    default: nil
    }
  }

  /// The login failed, or a session ended with `failure`: only what was refused is cleared, and only where the
  /// server refused it. A secret given now was never stored: its refusal changes nothing.
  package mutating func failed(_ failure: Failure, with source: SecretSource) {
    guard source != .given else { return }
    switch FailureTable[failure.name]?.clears ?? .nothing {
    case .nothing: break
    case .isLogin: isLogin = false
    case .secret:
      clearSecrets()
      isLogin = false
    case .token:
      // A kind without tokens has only the device's.
      if source == .deviceToken || !credential.kind.usesToken { token = nil }
      if source == .stored { credential.forgetTokens() }
      isLogin = isLogin && hasCredential
    }
  }

  /// Why it is not online is kept until a login ends it: another device was the last one, or the only token is over.
  package var awaitsLogin: Bool {
    switch lastState?.cause?.name {
    case .deviceChanged?: true
    case .tokenExpired?, .sessionExpired?: !hasCredential
    default: false
    }
  }

  /// Only who was logged in is logged in by itself. With `forced` it is enough that there is something to log in with.
  ///
  /// Throws `notLoggedIn` for an account that logged out or whose secret is gone, `tokenExpired` or `sessionExpired`
  /// where it is gone for that, `deviceChanged` where that was found out before.
  package func allowAuto(forced: Bool) throws(Failure) {
    if awaitsLogin, let cause = lastState?.cause, !forced || !hasCredential { throw cause }
    guard hasCredential, isLogin || forced else {
      throw Failure(.notLoggedIn, stage: .store, detail: .text(account))
    }
  }

  /// The user logged out: the secret that the account keeps stays for the next login, unless it is to be forgotten. The
  /// server's token for this device stays where that is it, and where it is still to be revoked.
  package mutating func loggedOut(_ parameters: LogoutMethod.Parameters) {
    let token = store == .token && !parameters.forget || parameters.revoke ? token : nil
    isLogin = false
    lastState = nil
    credential.issued = nil
    if parameters.forget { clearSecrets() }
    self.token = token
  }

  /// What an account keeps of its secret; nil: nothing.
  package var keptSecret: StorePolicy? {
    if credential.kind == .anonymous || !hasCredential { return nil }
    return store == .none ? nil : store
  }

  /// Another account has taken the place of the one that was stored.
  package mutating func forgetSecrets() {
    isLogin = false
    clearSecrets()
  }

  /// What the user calls this device from now on; empty: nothing.
  package mutating func rename(_ name: String) {
    let device = (device ?? DeviceIdentity()).overridden(by: DeviceIdentity(name: name))
    self.device = device == DeviceIdentity() ? nil : device
  }

  /// Which devices of the account may be online, from the next login on, which publishes it.
  package mutating func change(_ policy: DevicesPolicyMethod.Parameters) {
    setPolicy((devicePolicy ?? DevicePolicy()).changed(by: policy), isPublished: false)
  }

  /// The account's policy is this one.
  package mutating func setPolicy(_ policy: DevicePolicy, isPublished: Bool) {
    devicePolicy = policy == DevicePolicy() ? nil : policy
    hasUnpublishedPolicy = isPublished ? nil : true
  }

  /// The server's token for this device is gone; what else there is to log in with stays.
  package mutating func forgetDeviceToken() {
    token = nil
    isLogin = isLogin && hasCredential
  }

  private mutating func clearSecrets() {
    credential.password = nil
    credential.forgetTokens()
    // Of a login by its extension alone that is the secret.
    if credential.kind == .thirdParty { credential.loginExt = nil }
    token = nil
    scramKeys = []
  }
}

extension LoginCredential {
  /// What a policy leaves of it.
  package func kept(by policy: StorePolicy) -> LoginCredential {
    var kept = self
    switch policy {
    case .password: kept.passwordCommand = nil
    case .command: kept.forgetValues()
    case .keys, .token, .none:
      kept.forgetValues()
      kept.passwordCommand = nil
      kept.tokenCommand = nil
      if policy == .none || kind == .thirdParty {
        kept.loginExt = nil
        kept.loginExtCommand = nil
      }
    }
    return kept
  }

  private mutating func forgetValues() {
    password = nil
    forgetTokens()
  }

  fileprivate mutating func forgetTokens() {
    token = nil
    issued = nil
  }
}
