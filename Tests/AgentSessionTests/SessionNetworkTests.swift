import AgentProtocol
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import AgentSession
@testable import AgentSystem

@Suite("Reactions of a session to changes of the network", .timeLimit(.minutes(4)))
struct SessionNetworkTests {
  private static let change = NetworkChange(interface: "wlan0")

  @Test(
    "A login whose local address disappears begins anew, and reports nothing else.",
    arguments: [[ScriptedServer.Step.header], .login(until: .opened)])
  func begunAnew(beginning: [ScriptedServer.Step]) async throws {
    let desk = try await SessionDesk([beginning + [.stall], .session()])
    let parameters = try await desk.parameters()
    let login = Task { try await desk.session.login(parameters) }
    try await desk.until("its beginning") { !$0.isEmpty && desk.server.received.contains("<stream:stream") }
    // What it has is still there.
    await desk.session.networkChanged(Self.change, addresses: [TestServer.host, "10.1.2.3"])
    #expect(desk.server.connections == 1 && desk.changes.count { $0.state == .linking } == 1)
    await desk.session.networkChanged(Self.change, addresses: ["10.1.2.3"])
    #expect(try await login.value.success != nil)
    #expect(desk.server.connections == 2)
    try await desk.until("its end") { $0.last?.state == .syncOK }
    let states = desk.changes.map(\.state)
    #expect(states == [.linking, .linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "An automatic reconnect begins anew after a change of the network, and a logout still ends it."
  )
  func automatic() async throws {
    let desk = try await SessionDesk([.session(then: [.reset]), [.header, .stall]])
    _ = try await desk.session.login(try await desk.parameters())
    for count in 2...4 {
      try await desk.until("attempt \(count)") { _ in
        !desk.server.received(connection: count).isEmpty
      }
      await desk.session.networkChanged(Self.change, addresses: [])
    }
    try await desk.until("the last") { _ in desk.server.connections == 5 }
    #expect(!desk.changes.contains { [.linkFailed, .loginFailed, .netChanged].contains($0.state) })
    _ = try await desk.session.logout(.init(account: nil))
    await desk.session.networkChanged(Self.change, addresses: [])
    #expect(await desk.session.isActive == false)
    #expect(desk.server.connections == 5)
    #expect(await desk.lawless == [])
  }

  @Test(
    "A session that waits at the server's request goes on waiting after a change of the network."
  )
  func waits() async throws {
    let clock = QuickClock(holds: true)
    let desk = try await SessionDesk([.session(then: .error("conflict")), .session()], clock: clock)
    var parameters = try await desk.parameters()
    parameters.onKick = .reconnect
    _ = try await desk.session.login(parameters)
    try await desk.until("a pause") { $0.last?.state == .waiting }
    await desk.session.networkChanged(Self.change)
    #expect(desk.changes.last?.state == .waiting && desk.server.connections == 1)
    #expect(await desk.session.currentStatus().state == .waiting)
    _ = try await desk.session.logout(.init(account: nil))

    let other = try await SessionDesk([.session(then: .error("policy-violation")), .session()], clock: clock)
    _ = try await other.session.login(try await other.parameters())
    try await other.until("its end or a pause") { [.waiting, .kicked].contains($0.last?.state) }
    await other.session.networkChanged(Self.change)
    #expect(!other.changes.contains { $0.state == .netChanged })
    await other.session.close()
    #expect(await desk.lawless == [])
    #expect(await other.lawless == [])
  }

  @Test("A session that waits after a lost connection reconnects at once when the network changes.")
  func hurries() async throws {
    let clock = QuickClock(holds: true)
    let desk = try await SessionDesk([.session(then: [.reset]), .session()], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("a pause") { $0.last?.state == .waiting }
    await desk.session.networkChanged(Self.change)
    try await desk.until("its return") { $0.last?.state == .syncOK }
    #expect(desk.changes.contains { $0.state == .netChanged && $0.interface == "wlan0" })
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "A session pings its server at once when a clock shows that the machine has slept."
  )
  func slept() async throws {
    let desk = try await SessionDesk([
      .session(then: [
        .client("<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>"),
        .server("<iq type='result' id='{ping}'/>"),
      ])
    ])
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    let asleep = NIOLockedValueBox(Duration.zero)
    let changes = NetworkWatch.changes(
      on: MultiThreadedEventLoopGroup.singleton.any(), log: Logger(label: "test"),
      clock: SleepClock { asleep.withLockedValue { $0 } }, interval: .milliseconds(20))
    let watching = Task { for await change in changes { await session.networkChanged(change) } }
    asleep.withLockedValue { $0 += .seconds(3600) }
    try await desk.until("the answer") { changes in
      changes.contains { $0.state == .netChanged } && changes.last?.state == .syncOK
    }
    #expect(desk.changes.first { $0.state == .netChanged }?.interface == nil)
    #expect(desk.server.received.contains("urn:xmpp:ping") && desk.server.mismatches == [])
    watching.cancel()
    await session.close()
  }
}

@Suite("The time after a logout", .timeLimit(.minutes(2)))
struct AfterLogoutTests {
  @Test("After a logout, no connection is made, regardless of time and changes of the network.")
  func online() async throws {
    let clock = QuickClock()
    let desk = try await SessionDesk([.session()], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    _ = try await desk.session.logout(.init(account: nil))
    try await quiet(desk, clock)
    #expect(desk.server.connections == 1 && clock.pauses.isEmpty)
  }

  @Test("After a logout during the pause before an attempt, no connection is made.")
  func waiting() async throws {
    let clock = QuickClock(holds: true)
    let desk = try await SessionDesk([.session(then: [.reset])], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("a pause") { $0.last?.state == .waiting }
    _ = try await desk.session.logout(.init(account: nil))
    try await quiet(desk, clock)
    #expect(desk.server.connections == 1 && clock.pauses.count == 1)
  }

  /// Whatever could make the session come back.
  private func quiet(_ desk: SessionDesk, _ clock: QuickClock) async throws {
    for _ in 0..<6 {
      clock.advance(10)
      await desk.session.networkChanged(NetworkChange(interface: "wlan0"), addresses: [])
      await desk.session.keepOnline()
      try await desk.session.autoLogin()
    }
    #expect(await desk.session.isActive == false)
    #expect(await desk.session.isBusy == false)
    await desk.caughtUp()
    #expect(desk.changes.last?.state == .offline)
    #expect(await desk.lawless == [])
  }
}
