import AgentProtocol
import AgentStore
import AgentSystem
import UserCommand
import XMPPSASL

extension CredentialCommand {
  /// Runs the command and returns the first line of its output. Throws the errors of ``line()``.
  package func secret() async throws(Failure) -> Secret { Secret(try await line()) }

  /// Runs the command and returns the token that it prints: bare, or as the JSON object
  /// `{"token":…,"expires":…,"jid":…}`; nil where it succeeds without output.
  ///
  /// Throws the errors of ``line()``, also for output that is not a token.
  package func token(for account: String) async throws(Failure) -> IssuedToken? {
    let (output, errors) = try await output()
    do {
      return try IssuedToken(printed: output, for: account)
    } catch {
      throw failed(error.reason, errors)
    }
  }

  /// Runs the command and returns its output and the JID that the output names, if any.
  package func answer() async throws(Failure) -> (printed: String, jid: String?) {
    let printed = try await text()
    return (printed, IssuedToken.jid(printed: printed))
  }
}
