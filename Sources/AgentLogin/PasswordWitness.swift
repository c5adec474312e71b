import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// Observes which sessions and tokens a password change ends.
///
/// Servers differ, and none tells what it does, so a login is made to observe it: its session stands for the sessions
/// of all other devices, and its token for their tokens.
package struct PasswordWitness: Sendable, Equatable {
  /// Whether the server ends all other sessions.
  var endsSessions = false
  /// Whether the server still accepts earlier tokens (XEP-0484).
  var keepsTokens = false

  /// Some servers compare whole seconds, so that a token issued in the second of the change stays valid.
  private static let resolution = Duration.milliseconds(1100)

  /// Runs `change`, which changes the password, and observes the result.
  ///
  /// - Parameters:
  ///   - plan: a plan that logs in with the old password.
  ///   - random: a resource that no other client has.
  ///
  /// - Returns: the result of `change`, and the observation.
  static func observe<Result: Sendable>(
    _ stream: ServerStream, _ plan: LoginPlan, as random: String,
    _ change: @escaping @Sendable () async throws(Failure) -> Result
  ) async throws(Failure) -> (Result, PasswordWitness) {
    var plan = plan
    // The device's own token says nothing about other tokens, and is still needed.
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
      // A server that cannot be asked may still accept them.
      let isGood = try? await TokenRevocation.revoke(plan.withTokenAlone(), timeout: stream.timeout)
      witness.keepsTokens = isGood ?? true
    }
    return (result, witness)
  }
}

extension DevicesAtServer {
  /// Revokes the tokens of other installations (XEP-0484 §3.6): logs in with the ID of each, so that a new token
  /// replaces its own, and revokes the new one.
  ///
  /// - Parameter ids: the device IDs. One whose token cannot be revoked is skipped.
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
  /// The plan with its device token as the only credential.
  fileprivate func withTokenAlone() throws(Failure) -> LoginPlan {
    var alone = try LoginPlan(
      account: account, credential: LoginCredential(), isGiven: false, store: nil, options: options)
    alone.deviceToken = deviceToken
    alone.deviceId = deviceId
    alone.server = server
    return alone
  }
}
