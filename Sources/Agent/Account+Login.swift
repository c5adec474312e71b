import AgentProtocol

/// What a login, its failure and a logout change in the stored account.
extension Account {
  /// Where the secret of a login came from.
  public enum SecretSource: Sendable, Equatable {
    /// Given with this login: the stored one has not been tried.
    case given
    case stored
  }

  /// The login succeeded: what `policy` allows is kept, the rest is forgotten.
  ///
  /// - Parameters:
  ///   - password: the secret that was accepted.
  ///   - command: the command that printed it, if one did.
  ///   - policy: `nil` keeps the account's own, which is `command` where a command was given and `password` else.
  public mutating func loggedIn(
    password: Secret?, command: String? = nil, policy: StorePolicy? = nil, server: KnownServer? = nil
  ) {
    store = policy ?? (command != nil ? .command : store)
    // A stored command is no help to a password typed now.
    if policy == nil, command == nil, password != nil, store == .command, passwordCommand == nil {
      store = .password
    }
    switch store {
    case .password:
      self.password = password ?? self.password
      passwordCommand = nil
    case .command:
      self.password = nil
      passwordCommand = command ?? passwordCommand
    case .none:
      self.password = nil
      passwordCommand = nil
      token = nil
    }
    self.server = server ?? self.server
    isLogin = true
  }

  /// The login failed, or a session ended with `failure`: only what was refused is cleared, and only where the
  /// server refused it. A secret given now was never stored: its refusal changes nothing.
  public mutating func failed(_ failure: Failure, with source: SecretSource) {
    guard source == .stored else { return }
    switch FailureTable[failure.name]?.clears ?? .nothing {
    case .nothing: break
    case .isLogin: isLogin = false
    case .secret:
      password = nil
      token = nil
      isLogin = false
    case .token:
      token = nil
      isLogin = isLogin && hasCredential
    }
  }

  /// The user logged out: account and domain stay for the next login, no secret does.
  public mutating func loggedOut() {
    isLogin = false
    password = nil
    token = nil
  }
}
