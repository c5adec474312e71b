import AgentLogin
import AgentProtocol
import AgentStore
import Logging
import XMPPSASL
import XMPPStanza

// What the session is to its parts, and to whoever asks something of them. A part is a class that is not Sendable: it is
// isolated to the session, and everything in it happens on the session's executor.

extension Session {
  package nonisolated var account: JID { context.account }
  nonisolated var hub: any EventPublisher { context.hub }
  nonisolated var accounts: AccountStore { context.accounts }
  nonisolated var localStore: LocalStore { context.localStore }
  nonisolated var log: Logger { context.log }
  nonisolated var language: String { context.language }
  nonisolated var patience: SessionPatience { context.patience }
  nonisolated var clock: SessionClock { context.clock }

  /// RFC 3339: so many seconds from now.
  nonisolated func timestamp(_ seconds: Double = 0) -> String { context.timestamp(seconds) }
}

extension Session {
  /// Runs what somebody else asks of the session or its parts.
  package func perform<Value: Sendable, Problem: Error>(
    _ body: @Sendable (isolated Session) async throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    try await body(self)
  }

  /// Begins what a part of the session does beside what it is doing now. Only the parts call this.
  @discardableResult
  nonisolated func start<Value: Sendable>(
    _ body: @escaping @Sendable (isolated Session) async -> Value
  ) -> Task<Value, Never> {
    assumeIsolated { $0.begin(body) }
  }

  /// Asks the session something, or has it change something, at once. Only the parts call this.
  nonisolated func ask<Value: Sendable>(_ body: (isolated Session) -> Value) -> Value { assumeIsolated(body) }

  /// Presence is sent in this session and in those after it.
  func sendPresenceFromNowOn() {
    online?.plan.sendsPresence = true
    activePlan?.sendsPresence = true
  }

  /// The account's device policy is this one, for the session that is online.
  func adopt(_ policy: DevicePolicy) { online?.plan.devicePolicy = policy }

  /// This device is called so, in this session and in those after it.
  func overrideDevice(by change: DeviceIdentity) {
    if let plan = online?.plan { online?.plan.device = plan.device.overridden(by: change) }
    if let plan = activePlan { activePlan?.device = plan.device.overridden(by: change) }
  }

  /// The sessions after this one log in with a new password.
  func passwordChanged(to password: Secret) { activePlan?.passwordChanged(to: password, keys: []) }

  fileprivate func begin<Value: Sendable>(
    _ body: @escaping @Sendable (isolated Session) async -> Value
  ) -> Task<Value, Never> {
    Task { await body(self) }
  }
}
