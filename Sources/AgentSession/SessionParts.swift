import AgentLogin
import AgentProtocol
import AgentStore
import Logging
import XMPPSASL
import XMPPStanza

// The interface of the session for its parts and for the service. A part is a class that is not Sendable: it is
// isolated to the session, and runs on the session's executor.

extension Session {
  package nonisolated var account: JID { context.account }
  nonisolated var hub: any EventPublisher { context.hub }
  nonisolated var accounts: AccountStore { context.accounts }
  nonisolated var localStore: LocalStore { context.localStore }
  nonisolated var log: Logger { context.log }
  nonisolated var language: String { context.language }
  nonisolated var patience: SessionPatience { context.patience }
  nonisolated var clock: SessionClock { context.clock }

  /// RFC 3339: the time in this number of seconds.
  nonisolated func timestamp(_ seconds: Double = 0) -> String { context.timestamp(seconds) }
}

extension Session {
  /// Runs a request of the service to the session or its parts.
  package func perform<Value: Sendable, Problem: Error>(
    _ body: @Sendable (isolated Session) async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    try await body(self)
  }

  /// Starts a task in the session for one of its parts. Only the parts call this.
  @discardableResult
  nonisolated func start<Value: Sendable>(
    _ body: @escaping @Sendable (isolated Session) async -> Value
  ) -> Task<Value, Never> {
    assumeIsolated { $0.begin(body) }
  }

  /// Accesses the session's state synchronously. Only the parts call this.
  nonisolated func ask<Value: Sendable>(_ body: (isolated Session) -> Value) -> Value { assumeIsolated(body) }

  /// Sends presence in this session and in later ones.
  func sendPresenceFromNowOn() {
    changePlans { $0.sendsPresence = true }
  }

  /// Sets the account's device policy for the online session.
  func adopt(_ policy: DevicePolicy) { online?.changePlan { $0.devicePolicy = policy } }

  /// Changes the description of this device in this session and in later ones.
  func overrideDevice(by change: DeviceIdentity) {
    changePlans { $0.device = $0.device.overridden(by: change) }
  }

  /// Later sessions log in with the new password.
  func passwordChanged(to password: Secret) {
    changePlans { $0.passwordChanged(to: password, keys: []) }
  }

  /// Changes the plan of the online session, and the plan of later ones.
  func changePlans(_ change: (inout LoginPlan) -> Void) {
    online?.changePlan(change)
    reconnection.changePlan(change)
  }

  fileprivate func begin<Value: Sendable>(
    _ body: @escaping @Sendable (isolated Session) async -> Value
  ) -> Task<Value, Never> {
    Task { await body(self) }
  }
}
