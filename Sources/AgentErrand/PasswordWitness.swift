import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// What a change of the password has ended at the server, beside the password.
///
/// Servers differ, and none says what it does: a login that is made for it alone shows it. Its session stands for the
/// sessions of all other devices, and its token for their tokens.
package struct PasswordWitness: Sendable, Equatable {
  /// The server ends all other sessions.
  var endsSessions = false
  /// The server still takes tokens that it gave before (XEP-0484).
  var keepsTokens = false

  /// Some servers compare whole seconds: a token of the second in which the password changes stays good.
  private static let resolution = Duration.milliseconds(1100)

  /// Runs `change`, which changes the password, and looks at what that has ended.
  ///
  /// - Parameters:
  ///   - plan: logs in with the password of before.
  ///   - random: a resource that nobody else has.
  ///
  /// - Returns: what `change` has returned, and what was seen.
  static func observe<Result: Sendable>(
    _ stream: ServerStream, _ plan: LoginPlan, as random: String,
    _ change: @escaping @Sendable () async throws(Failure) -> Result
  ) async throws(Failure) -> (Result, PasswordWitness) {
    var plan = plan
    // The device's own token shows nothing of those of the others, and is still needed.
    plan.deviceToken = nil
    guard plan.credential.isUsable || !plan.scramKeys.isEmpty else {
      return (try await change(), PasswordWitness(endsSessions: false, keepsTokens: true))
    }
    plan.deviceId = LoginPlan.newDeviceId()
    var witness = PasswordWitness()
    let (result, token, endsSessions) = try await stream.loggedIn(
      by: &plan, as: random, requestsToken: true
    ) { connection, bound throws(Failure) in
      let token = bound.fastToken.flatMap { DeviceToken($0) }
      if token != nil { try? await Task.sleep(for: resolution) }
      let result = try await change()
      let answer = try? await connection.request(Ping.request(bound.jid.bare), timeout: .seconds(10))
      return (result, token, answer == nil)
    }
    witness.endsSessions = endsSessions
    if let token {
      plan.deviceToken = token
      // A server that cannot be asked may keep them.
      let isGood = try? await TokenRevocation.revoke(plan.withTokenAlone(), timeout: stream.timeout)
      witness.keepsTokens = isGood ?? true
    }
    return (result, witness)
  }
}

extension DevicesAtServer {
  /// Ends the tokens that the server gave to installations (XEP-0484 §3.6): logs in as each of them, so that a new token
  /// takes the place of the one it has, and ends the new one.
  ///
  /// - Parameter ids: of the installations. One whose token cannot be ended is left out.
  func endTokens(of ids: [String]) async {
    for id in ids.prefix(DeviceSurvey.maximumDevices) {
      do throws(Failure) { try await endToken(of: id) } catch { continue }
    }
  }

  private func endToken(of id: String) async throws(Failure) {
    var plan = plan
    plan.deviceToken = nil
    plan.deviceId = id
    plan.deviceToken = try await stream.loggedIn(by: &plan, as: Self.randomResource, requestsToken: true) {
      _, bound throws(Failure) in bound.fastToken.flatMap { DeviceToken($0) }
    }
    guard plan.deviceToken != nil else { return }
    try await TokenRevocation.revoke(plan.withTokenAlone(), timeout: stream.timeout)
  }
}

extension LoginPlan {
  /// The plan with its device token and nothing else to log in with.
  fileprivate func withTokenAlone() throws(Failure) -> LoginPlan {
    var alone = try LoginPlan(
      account: account, credential: LoginCredential(), isGiven: false, store: nil, options: options)
    alone.deviceToken = deviceToken
    alone.deviceId = deviceId
    alone.server = server
    return alone
  }
}
