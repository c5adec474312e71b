import AgentLogin
import AgentProtocol
import AgentStore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// Registers an account at a server that permits it (XEP-0077).
package struct AccountRegistration: Sendable {
  private let stream: ServerStream
  private let name: String

  /// Throws `invalidParameter` for a JID without a local part.
  package init(on stream: ServerStream) throws(Failure) {
    guard let name = stream.account.local else {
      throw Failure(.invalidParameter, stage: .input, detail: .login(.noUserName, stream.account))
    }
    self.stream = stream
    self.name = name
  }

  /// The bare JID of the account.
  package var account: String { stream.account.description }

  /// Registers the account on a stream without a login.
  ///
  /// - Parameters:
  ///   - answers: the answers to the server's further questions, by field name.
  ///   - tell: called with the server's instructions and a URL, where it asks further questions.
  ///   - ask: called for each required answer that is missing; returns nil without a user to ask.
  package func register(
    password: Secret, answers: [String: [String]], tell: @Sendable (String) -> Void = { _ in },
    ask: @Sendable (AgentNotice.Question) async -> String? = { _ in nil }
  ) async throws(Failure) {
    var answers = answers
    answers["username"] = [name]
    answers["password"] = [password.value]
    try await stream.beforeLogin(names: false) { connection, _ throws(Failure) in
      let domain = stream.account.domain
      let form = try await Failure.whenRefused { () async throws(XMPPError) in
        try await Registration.form(on: connection, domain: domain, timeout: stream.timeout)
      }
      let questions = form.missing(in: answers)
      if !questions.isEmpty {
        for text in [form.instructions, form.address].compactMap({ $0 }) { tell(text) }
      }
      for field in questions {
        if let answer = await ask(AgentNotice.Question(field)) { answers[field.name] = [answer] }
      }
      let given = answers
      try await Failure.whenRefused { () async throws(XMPPError) in
        try await Registration.register(
          form.submission(given), on: connection, domain: domain, timeout: stream.timeout)
      }
    }
  }
}

extension AccountStore {
  /// Stores an account that was registered; its next login needs only the password.
  package func registered(_ account: String, options: ConnectionOptions) throws(Failure) {
    try update { file throws(Failure) in
      let jid = try BareJID.parts(account)
      var entry = file[jid.bare] ?? Account(account: jid.bare, domain: jid.domain)
      // The stored secrets belonged to an account that no longer exists.
      entry.forgetSecrets()
      entry.options = entry.options.overridden(by: options)
      file[jid.bare] = entry
      file.last = jid.bare
    }
  }
}

extension AgentNotice.Question {
  package init(_ field: RegistrationForm.Field) {
    self.init(
      name: field.name, label: field.label, isSecret: field.isSecret, options: field.options,
      media: field.media)
  }
}
