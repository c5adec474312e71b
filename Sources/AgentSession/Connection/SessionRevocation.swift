import AgentLogin
import AgentProtocol
import AgentStore

extension Session {
  /// The server forgets its token for this device, and so do we.
  ///
  /// A running session goes on. Where the server cannot be reached the tokens stay. False: there was none.
  package func revokeToken(within seconds: Double) async throws(Failure) -> Bool {
    try await inTurn { session async throws(Failure) in
      guard var stored = try await session.accounts.entry(session.account) else {
        throw Failure(.notLoggedIn, stage: .store, detail: .text("\(session.account)"))
      }
      stored.token = session.deviceToken ?? stored.token
      let revoked = try await TokenRevocation.revoke(stored, timeout: seconds)
      session.online?.plan.deviceToken = nil
      session.activePlan?.deviceToken = nil
      try await session.accounts.change(session.account) { $0.forgetDeviceToken() }
      return revoked
    }
  }

  /// A token that is not stored is known to a running session.
  var deviceToken: DeviceToken? { online?.plan.deviceToken ?? activePlan?.deviceToken }
}
