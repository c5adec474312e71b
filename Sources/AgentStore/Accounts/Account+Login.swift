import AgentProtocol
import XMPPSASL

/// The changes that a login, a failed login and a logout make to the stored account.
extension Account {
  /// The source of the secret of a login.
  package enum SecretSource: Sendable, Equatable {
    /// The secret was given with this login; the stored one was not tried.
    case given
    case stored
    /// The server's token for this device, which is always stored.
    case deviceToken
  }

  /// Records a successful login: keeps what `policy` allows and deletes the rest.
  ///
  /// - Parameters:
  ///   - credential: the accepted credential, or the one that a device token replaced.
  ///   - policy: nil keeps the account's policy; without one, it is `command` for a password command, otherwise
  ///     `password`.
  ///   - token: the server's current token for this device, if any.
  ///   - scramKeys: the keys that the login has used or derived.
  package mutating func loggedIn(
    _ credential: LoginCredential, policy: StorePolicy? = nil, token: DeviceToken? = nil,
    scramKeys: [SCRAMKeys] = [], server: KnownServer? = nil
  ) {
    store = policy ?? (credential.passwordCommand != nil ? .command : store)
    // A stored command does not replace a password that was typed now.
    if policy == nil, store == .command, credential.passwordCommand ?? credential.tokenCommand == nil {
      store = .password
    }
    self.credential = credential.kept(by: store)
    self.token = store == .password || store == .token ? token : nil
    self.scramKeys = store == .password || store == .keys ? scramKeys : []
    self.server = server ?? self.server
    isLogin = true
  }

  /// The policy that is in effect where the login did not provide what `store` asks for; otherwise nil.
  package var shortfall: StorePolicy? {
    switch store {
    case .token where token == nil: StorePolicy.none
    case .keys where scramKeys.isEmpty: StorePolicy.none
    default: nil
    }
  }

  /// Records a failed login or a session that ended with `failure`: only the refused secret is deleted, and only where
  /// the server refused it. A secret given with this login was never stored, so its refusal changes nothing.
  package mutating func failed(_ failure: Failure, with source: SecretSource) {
    guard source != .given else { return }
    switch FailureTable[failure.name]?.clears ?? .nothing {
    case .nothing: break
    case .isLogin: isLogin = false
    case .secret:
      clearSecrets()
      isLogin = false
    case .token:
      // For a login kind without tokens, the token can only be the device token.
      if source == .deviceToken || !credential.kind.usesToken { token = nil }
      if source == .stored { credential.forgetTokens() }
      isLogin = isLogin && hasCredential
    }
  }

  /// Whether the account stays offline until the user logs in: another device logged in last, or the only token has
  /// expired.
  package var awaitsLogin: Bool {
    switch lastState?.cause?.name {
    case .deviceChanged?: true
    case .tokenExpired?, .sessionExpired?: !hasCredential
    default: false
    }
  }

  /// Throws where the account may not log in automatically: it must have been logged in. With `forced`, a credential
  /// suffices.
  ///
  /// Throws `notLoggedIn` for an account that logged out or lost its secret, `tokenExpired` or `sessionExpired` where
  /// that is why it was lost, and `deviceChanged` where an earlier login found that out.
  package func allowAuto(forced: Bool) throws(Failure) {
    if awaitsLogin, let cause = lastState?.cause, !forced || !hasCredential { throw cause }
    guard hasCredential, isLogin || forced else {
      throw Failure(.notLoggedIn, stage: .store, detail: .text(account))
    }
  }

  /// Records a logout. The stored secret stays for the next login unless it is to be deleted. The server's device token
  /// stays if it is that secret or still has to be revoked.
  package mutating func loggedOut(_ parameters: LogoutMethod.Parameters) {
    let token = store == .token && !parameters.forget || parameters.revoke ? token : nil
    isLogin = false
    lastState = nil
    credential.issued = nil
    if parameters.forget { clearSecrets() }
    self.token = token
  }

  /// The policy under which a secret is stored; nil where none is.
  package var keptSecret: StorePolicy? {
    if credential.kind == .anonymous || !hasCredential { return nil }
    return store == .none ? nil : store
  }

  /// Deletes the secrets when another account takes the place of the stored one.
  package mutating func forgetSecrets() {
    isLogin = false
    clearSecrets()
  }

  /// Sets the name of this device; an empty name removes it.
  package mutating func rename(_ name: String) {
    let device = (device ?? DeviceIdentity()).overridden(by: DeviceIdentity(name: name))
    self.device = device == DeviceIdentity() ? nil : device
  }

  /// Changes the device policy of the account, which the next login publishes.
  package mutating func change(_ policy: DevicesPolicyMethod.Parameters) {
    setPolicy((devicePolicy ?? DevicePolicy()).changed(by: policy), isPublished: false)
  }

  /// Sets the device policy of the account.
  package mutating func setPolicy(_ policy: DevicePolicy, isPublished: Bool) {
    devicePolicy = policy == DevicePolicy() ? nil : policy
    hasUnpublishedPolicy = isPublished ? nil : true
  }

  /// Deletes the server's token for this device; other credentials stay.
  package mutating func forgetDeviceToken() {
    token = nil
    isLogin = isLogin && hasCredential
  }

  private mutating func clearSecrets() {
    credential.password = nil
    credential.forgetTokens()
    // In a login with the extension alone, the extension is the secret.
    if credential.kind == .thirdParty { credential.loginExt = nil }
    token = nil
    scramKeys = []
  }
}

extension LoginCredential {
  /// The part of the credential that a policy allows to store.
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
