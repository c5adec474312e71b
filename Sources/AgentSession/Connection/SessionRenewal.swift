import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import UserCommand
import XMPPSASL

// What was stored to log in with is refused: the user's command may have something fresh.

extension Session {
  /// Seconds for the command.
  private static let patience = 60.0

  /// Asks the command for a fresh secret, once: a secret of its own that is refused is the end.
  ///
  /// - Returns: what to log in with; nil where only the user can go on.
  func renewed(_ plan: LoginPlan, after failure: Failure) async -> LoginPlan? {
    guard let command = plan.onAuthFailure, !plan.isRenewed else { return nil }
    let event = hub.publish(
      account: account.description, .loginRequired(LoginRequired(cause: failure, asksCommand: true)))
    do throws(Failure) {
      let source = try CredentialCommand(command, timeLimit: .seconds(Self.patience))
      return try plan.renewed(with: await source.text(input: RPC.line(event)))
    } catch {
      context.report("on-auth-failure", error)
      return nil
    }
  }

  /// Nobody but the user can go on.
  func tellLoginRequired(_ failure: Failure) {
    hub.publish(
      account: account.description, .loginRequired(LoginRequired(cause: failure, asksCommand: false)))
  }
}
