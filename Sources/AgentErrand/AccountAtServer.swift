import AgentLogin
import AgentProtocol
import AgentStore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// An account at its server, to be changed on a stream of its own (XEP-0077 §3.2, §3.3).
package struct AccountAtServer: Sendable {
  package let stream: ServerStream
  package let credentials: SASLCredentials
  package let server: KnownServer?
  private let store: StorePolicy
  private let accounts: AccountStore

  /// - Parameters:
  ///   - name: a JID, stored or not; nil: the default account.
  ///   - password: the current one; nil: what is stored of it.
  ///   - options: those given now, over the stored ones.
  ///   - timeout: seconds.
  ///
  /// Throws `invalidParameter` where there is nothing to log in with.
  package init(
    _ name: String?, password: Secret?, options: ConnectionOptions, timeout: Double,
    in accounts: AccountStore, language: String,
    onEvent: @escaping @Sendable (Event.Body) -> Void = { _ in }
  ) async throws(Failure) {
    let entry = try await accounts.inBackground { store throws(Failure) in
      let file = try store.load()
      guard let name else { return try file.account(nil) }
      let jid = try BareJID.parts(name)
      return file[jid.bare] ?? Account(account: jid.bare, domain: jid.domain)
    }
    stream = try ServerStream(
      to: entry.account, options: entry.options.overridden(by: options), timeout: timeout,
      language: language, onEvent: onEvent)
    var current = password
    if current == nil { current = try await entry.secret() }
    guard current != nil || !entry.scramKeys.isEmpty else {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: .login(.noCurrentPassword, entry.account))
    }
    let authcid = entry.credential.authcid
    credentials = SASLCredentials(
      authcid: authcid ?? stream.account.local ?? "",
      // Another name stands for another identity, unless told (RFC 6120 §6.3.8).
      authzid: authcid == nil || authcid == stream.account.local ? nil : entry.account,
      password: current, scramKeys: password == nil ? entry.scramKeys : [])
    server = entry.server
    store = entry.store
    self.accounts = accounts
  }

  /// Bare JID.
  package var account: String { stream.account.description }

  /// Changes the password, at the server and in the store.
  ///
  /// - Parameter command: what printed the new password: takes the place of a stored command.
  package func changePassword(
    to new: Secret, command: String?
  ) async throws(Failure) -> AccountPasswdMethod.Result {
    try await changePassword(to: new)
    let keys = await keysToKeep(of: new)
    return try await accounts.passwordChanged(of: stream.account, to: new, command: command, keys: keys)
  }

  /// Deletes the account, at the server and in the store.
  package func delete() async throws(Failure) {
    try await deleteAtServer()
    try await accounts.remove(stream.account)
  }

  package func changePassword(to new: Secret) async throws(Failure) {
    try await stream.loggedIn(with: credentials, server) { connection, _ throws(Failure) in
      try await Failure.whenRefused { () async throws(XMPPError) in
        try await Registration.changePassword(
          of: stream.account, to: new.value, on: connection, timeout: stream.timeout)
      }
    }
  }

  package func deleteAtServer() async throws(Failure) {
    try await stream.loggedIn(with: credentials, server) { connection, _ throws(Failure) in
      try await Failure.whenRefused { () async throws(XMPPError) in
        try await Registration.cancel(on: connection, timeout: stream.timeout)
      }
    }
  }

  /// What a login with a new password derives of it, where that is all that is kept; without it the user has to be
  /// asked again.
  package func keysToKeep(of new: Secret) async -> [SCRAMKeys] {
    guard store == .keys else { return [] }
    var credentials = credentials
    credentials.password = new
    credentials.scramKeys = []
    let keys = try? await stream.loggedIn(with: credentials, server) { _, bound throws(Failure) in
      bound.scramKeys
    }
    return [keys ?? nil].compactMap(\.self)
  }
}

extension AccountStore {
  /// The password was changed at the server.
  package func passwordChanged(
    of account: JID, to new: Secret, command: String?, keys: [SCRAMKeys]
  ) async throws(Failure) -> AccountPasswdMethod.Result {
    try await updateInBackground { file in
      let name = account.description
      guard var entry = file[name] else {
        return AccountPasswdMethod.Result(account: name, usesCommand: false)
      }
      entry.passwordChanged(to: new, command: command, keys: keys)
      file[name] = entry
      return AccountPasswdMethod.Result(
        account: name, usesCommand: command == nil && entry.passwordCommand != nil)
    }
  }

  /// An account was made at its server: the next login needs nothing but its password.
  package func registered(_ account: String, options: ConnectionOptions) throws(Failure) {
    try update { file throws(Failure) in
      let jid = try BareJID.parts(account)
      var entry = file[jid.bare] ?? Account(account: jid.bare, domain: jid.domain)
      // What is stored belonged to an account that is gone.
      entry.forgetSecrets()
      entry.options = entry.options.overridden(by: options)
      file[jid.bare] = entry
      file.last = jid.bare
    }
  }
}

extension Account {
  /// Keeps the new password where the old one was kept.
  package mutating func passwordChanged(to new: Secret, command: String?, keys: [SCRAMKeys]) {
    if password != nil { password = new }
    scramKeys = keys
    if passwordCommand != nil, let command { passwordCommand = command }
  }
}

extension LoginPlan {
  package mutating func passwordChanged(to new: Secret, keys: [SCRAMKeys]) {
    credential.password = new
    scramKeys = keys
  }
}
