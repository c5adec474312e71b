import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import FoundationEssentials
import Glibc
import XMPP
import XMPPSASL
import XMPPStanza

// What an attempt presents: what is stored or given, and what commands of the user answer now.

extension Session {
  /// As ``LoginPlan/present(within:isAutomatic:onFallback:)``; what was given beforehand and takes the place of a token is told.
  func present(_ plan: LoginPlan, _ attempt: Attempt) async throws(Failure) -> Presented {
    try await plan.present(
      within: .seconds(min(60, attempt.remaining)), isAutomatic: attempt.isAutomatic
    ) { [hub, account] cause in
      hub.publish(account: account.description, .tokenUnavailable(cause: cause))
    }
  }
}
