import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import UserCommand
import XMPPSASL

// Renews refused credentials with the user's command.

extension Session {
  /// The time limit of the command in seconds.
  private static let patience = 60.0

  /// Asks the command for a new secret. This happens once: if the new secret is refused, the login ends.
  ///
  /// - Returns: The plan with the new secret; nil if only the user can continue.
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

  /// Publishes that only the user can continue.
  func tellLoginRequired(_ failure: Failure) {
    hub.publish(
      account: account.description, .loginRequired(LoginRequired(cause: failure, asksCommand: false)))
  }
}
