import AgentProtocol
import AgentStore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// Changes an account at its server on a short stream (XEP-0077 §3.2, §3.3).
package struct AccountAtServer: Sendable {
  package let stream: ServerStream
  package let credentials: SASLCredentials
  package let server: KnownServer?
  private let store: StorePolicy
  private let accounts: AccountStore

  /// - Parameters:
  ///   - name: a JID, stored or not; nil for the default account.
  ///   - password: the current password; nil for the stored one.
  ///   - options: the given options, which override the stored ones.
  ///   - timeout: the time limit in seconds.
  ///
  /// Throws `invalidParameter` where there is no credential.
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
      // By default another authcid means another identity (RFC 6120 §6.3.8).
      authzid: authcid == nil || authcid == stream.account.local ? nil : entry.account,
      password: current, scramKeys: password == nil ? entry.scramKeys : [])
    server = entry.server
    store = entry.store
    self.accounts = accounts
  }

  /// Bare JID.
  package var account: String { stream.account.description }

  /// Changes the password at the server and in the store.
  ///
  /// - Parameter command: the command that printed the new password, which replaces a stored command.
  package func changePassword(
    to new: Secret, command: String?
  ) async throws(Failure) -> AccountPasswdMethod.Result {
    try await changePassword(to: new)
    let keys = await keysToKeep(of: new)
    return try await accounts.passwordChanged(of: stream.account, to: new, command: command, keys: keys)
  }

  /// Deletes the account at the server and in the store.
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

  /// The keys derived from a new password by a test login, where only keys are stored; empty where that fails, so that
  /// the user has to type the password again.
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
  /// Stores a password that was changed at the server.
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
}

extension Account {
  /// Stores the new password in the form in which the old one was stored.
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
