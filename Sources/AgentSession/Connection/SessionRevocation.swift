import AgentLogin
import AgentProtocol
import AgentStore

extension Session {
  /// Revokes this device's token at the server and removes it here.
  ///
  /// An online session continues. If the server cannot be reached, the tokens remain. Returns false if there was no
  /// token.
  package func revokeToken(within seconds: Double) async throws(Failure) -> Bool {
    try await inTurn { session async throws(Failure) in
      guard var stored = try await session.accounts.entry(session.account) else {
        throw Failure(.notLoggedIn, stage: .store, detail: .text("\(session.account)"))
      }
      stored.token = session.deviceToken ?? stored.token
      let revoked = try await TokenRevocation.revoke(stored, timeout: seconds)
      session.changePlans { $0.deviceToken = nil }
      try await session.accounts.change(session.account) { $0.forgetDeviceToken() }
      return revoked
    }
  }

  /// The token of this device, which an online session may know even if it is not stored.
  var deviceToken: DeviceToken? { online?.plan.deviceToken ?? activePlan?.deviceToken }
}
