import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPStanza

/// Revokes the server's token for this device (XEP-0484 §3.6), on a short stream that logs in with the token.
package enum TokenRevocation {
  /// Returns when the server has revoked the token; at once where there is none or it has expired.
  ///
  /// A token that the server refuses counts as revoked. Returns false if there was none.
  @discardableResult
  package static func revoke(_ account: Account, timeout: Double) async throws(Failure) -> Bool {
    guard let token = account.token else { return false }
    if token.isExpired(at: Date().timeIntervalSince1970) { return true }
    let jid: JID
    do { jid = try JID(account.account) } catch {
      throw Failure(.invalidParameter, stage: .input, detail: FailureDetail(error))
    }
    var plan = try LoginPlan(
      account: jid, credential: LoginCredential(), isGiven: false, store: nil, options: account.options)
    plan.deviceToken = token
    plan.deviceId = account.deviceId
    plan.server = account.server
    let seconds = timeout > 0 ? min(timeout, 3600) : 3600
    try await revoke(plan, timeout: .nanoseconds(Int64(seconds * 1e9)))
    return true
  }

  /// Revokes the token of a plan without another credential.
  ///
  /// - Returns: whether the server still accepted the token.
  @discardableResult
  package static func revoke(_ plan: LoginPlan, timeout: TimeAmount) async throws(Failure) -> Bool {
    var configuration = plan.configuration(
      presenting: ResolvedCredentials(), timeout: timeout,
      language: Language.current == .chinese ? "zh" : "en")
    configuration.requestsToken = false
    // The current offer of the server decides, not the one of the last login.
    configuration.pipelining.offer = nil
    let stream = XMPPStream(configuration)
    do throws(XMPPError) {
      try await stream.invalidateToken()
    } catch {
      if [.authFailed, .tokenExpired, .deviceChanged].contains(error.code) { return false }
      throw Failure(error)
    }
    return true
  }
}
