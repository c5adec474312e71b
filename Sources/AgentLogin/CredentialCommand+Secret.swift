import AgentProtocol
import AgentStore
import AgentSystem
import UserCommand
import XMPPSASL

extension CredentialCommand {
  /// Runs the command and gives the first line that it prints. Throws as ``line()`` does.
  package func secret() async throws(Failure) -> Secret { Secret(try await line()) }

  /// Runs the command and gives the token that it prints: bare, or as the JSON object
  /// `{"token":…,"expires":…,"jid":…}`; nil where it ends well and gives none.
  ///
  /// Throws as ``line()`` does, also for what is no token.
  package func token(for account: String) async throws(Failure) -> IssuedToken? {
    let (output, errors) = try await output()
    do {
      return try IssuedToken(printed: output, for: account)
    } catch {
      throw failed(error.reason, errors)
    }
  }

  /// Runs the command and gives what it prints for a token, and whom that is for, as far as it says.
  package func answer() async throws(Failure) -> (printed: String, jid: String?) {
    let printed = try await text()
    return (printed, IssuedToken.jid(printed: printed))
  }
}
