import AgentProtocol
import AgentStore
import AgentSystem
import FoundationEssentials
import Glibc
import UserCommand
import XMPP
import XMPPSASL
import XMPPStanza

/// What one attempt presents to the server, its commands asked.
package struct ResolvedCredentials: Sendable, Equatable {
  package var password: Secret?
  package var token: IssuedToken?
  package var loginExtension: String?
  /// A command gave nothing, and what was given beforehand takes its place: the attempt is not counted.
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
  /// Asks the commands of the plan and decides; nothing was sent to the server yet.
  ///
  /// - Parameters:
  ///   - isAutomatic: nobody waits for it.
  ///   - onFallback: told where the token command gave none, and the token given beforehand is used.
  ///
  /// Throws `credentialSourceFailed` where a command fails or nothing is there to log in with, `invalidToken` and
  /// `tokenExpired` for a token that cannot be right, `sessionExpired` where a device token was all there is, what
  /// the server has refused a token with that would be the next one too, `invalidParameter` for a login extension that is too long.
  package func resolveCredentials(
    within limit: Duration, isAutomatic: Bool = false, onFallback: (Failure) -> Void = { _ in }
  ) async throws(Failure) -> ResolvedCredentials {
    var resolved = ResolvedCredentials(password: credential.password)
    if let failure = sessionExpiry { throw failure }
    if isDeviceTokenEnough {
      // What is there without a command goes along.
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
      // Of a login by hand that is a wrong parameter; a session that comes back waits until there is a token.
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

  /// The command is not asked while its last answer is known to be good.
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
