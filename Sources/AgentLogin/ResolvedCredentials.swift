import AgentProtocol
import AgentStore
import AgentSystem
import FoundationEssentials
import Glibc
import UserCommand
import XMPP
import XMPPSASL
import XMPPStanza

/// The credentials that one attempt presents to the server, after the plan's commands have run.
package struct ResolvedCredentials: Sendable, Equatable {
  package var password: Secret?
  package var token: IssuedToken?
  package var loginExtension: String?
  /// Whether a command printed nothing and the stored value takes its place; such an attempt is not counted.
  package var isFallback = false

  package init(
    password: Secret? = nil, token: IssuedToken? = nil, loginExtension: String? = nil,
    isFallback: Bool = false
  ) {
    self.password = password
    self.token = token
    self.loginExtension = loginExtension
    self.isFallback = isFallback
  }
}

extension LoginPlan {
  /// Runs the commands of the plan and chooses the credentials, before anything is sent to the server.
  ///
  /// - Parameters:
  ///   - isAutomatic: whether no command waits for the login.
  ///   - onFallback: called where the token command printed nothing and the given token is used.
  ///
  /// Throws `credentialSourceFailed` where a command fails or there is no credential, `invalidToken` and `tokenExpired`
  /// for a token that cannot be valid, `sessionExpired` where the only credential is an expired device token, the
  /// server's refusal where the token is the one that it has refused, and `invalidParameter` for a login extension that
  /// is too long.
  package func resolveCredentials(
    within limit: Duration, isAutomatic: Bool = false, onFallback: (Failure) -> Void = { _ in }
  ) async throws(Failure) -> ResolvedCredentials {
    var resolved = ResolvedCredentials(password: credential.password)
    if let failure = sessionExpiry { throw failure }
    if isDeviceTokenEnough {
      // An extension that needs no command is sent with the device token.
      if credential.loginExtCommand == nil { resolved.loginExtension = credential.loginExt }
      return resolved
    }
    if credential.kind.usesPassword, resolved.password == nil, let command = credential.passwordCommand {
      resolved.password = try await CredentialCommand(command, timeLimit: limit).secret()
    }
    var extensionAnswer = TokenChoice.Answer<String>.none
    if let command = credential.loginExtCommand {
      let text = try await CredentialCommand(command, timeLimit: limit).text()
      extensionAnswer = text.isEmpty ? .empty : .value(text)
    }
    guard credential.kind.usesToken else {
      resolved.loginExtension = extensionAnswer.value ?? credential.loginExt
      try resolved.loginExtension.map(LoginPlan.check(loginExtension:))
      return resolved
    }
    guard
      let choice = TokenChoice(
        token: try await tokenChoice(within: limit), given: credential.token,
        extension: extensionAnswer, givenExtension: credential.loginExt,
        extensionSuffices: credential.kind == .thirdParty)
    else {
      // In a manual login this is an invalid parameter; a reconnecting session waits for a token.
      throw Failure(
        .credentialSourceFailed, stage: isAutomatic ? .authenticate : .input,
        detail: .login(.noToken))
    }
    if let refused, refused.token == choice.token?.token { throw refused.failure }
    if choice.isFallback {
      onFallback(
        Failure(
          .credentialSourceFailed, stage: .input, detail: .login(.givenTokenUsed)))
    }
    resolved.token = choice.token
    resolved.loginExtension = choice.loginExtension
    resolved.isFallback = choice.isFallback
    try resolved.loginExtension.map(LoginPlan.check(loginExtension:))
    if let token = choice.token {
      try token.check(isJWT: credential.kind == .jwt, at: Date().timeIntervalSince1970)
    }
    return resolved
  }

  /// The command does not run while its last answer is known to be valid.
  private func tokenChoice(within limit: Duration) async throws(Failure) -> TokenChoice.Answer<IssuedToken> {
    guard let command = credential.tokenCommand else { return .none }
    if let printed = tokenAnswer {
      do throws(IssuedToken.Garbage) {
        return TokenChoice.Answer(try IssuedToken(printed: printed, for: account.description))
      } catch {
        throw Failure(.credentialSourceFailed, stage: .authenticate, detail: error.reason)
      }
    }
    if let issued = credential.issued, issued.isValid(at: Date().timeIntervalSince1970) {
      return .value(issued)
    }
    return TokenChoice.Answer(
      try await CredentialCommand(command, timeLimit: limit).token(for: account.description))
  }
}
