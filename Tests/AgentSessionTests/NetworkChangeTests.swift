import AgentProtocol
import AgentSystem
import Logging
import TestSupport
import Testing
import XMPPStanza

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

@Suite("Changes of the network during a session")
struct NetworkChangeTests {
  /// A session that is online, and its states from then on.
  private func online(
    _ server: TestServer, _ home: TemporaryDirectory,
    _ body: (Session, inout EventHub.Subscription.AsyncIterator) async throws -> Void
  ) async throws {
    let hub = EventHub(cursor: 0)
    let session = try Session(server.jid("alice"), home: home, hub: hub)
    _ = try await session.login(.init(on: server))
    // What is told while messages are on their way to the disk is told behind them.
    await session.perform { await $0.messages.queue.stored() }
    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    try await body(session, &events)
    await session.close()
  }

  private func states(
    _ events: inout EventHub.Subscription.AsyncIterator, to last: SessionState
  ) async -> [StateChange] {
    var states: [StateChange] = []
    while let event = await events.next() {
      guard case .state(let change) = event.body else { continue }
      states.append(change)
      if change.state == last { break }
    }
    return states
  }

  @Test("A session whose connection still works reports the change of the network and stays as it is.")
  func stays() async throws {
    let server = try await TestServer.shared(.prosody)
    try await online(server, TemporaryDirectory()) { session, events in
      await session.networkChanged(NetworkChange(interface: "wlan0"))
      let states = await states(&events, to: .syncOK)
      #expect(states.map(\.state) == [.netChanged, .syncOK])
      #expect(states.first?.interface == "wlan0")
      #expect(await session.currentStatus().sessions == 1)
    }
  }

  @Test("A session whose server does not answer after a change of the network is resumed at once.")
  func comesBack() async throws {
    let server = try await TestServer(TestServer.Options(.prosody))
    try await online(server, TemporaryDirectory()) { session, events in
      // An acknowledgement that is on its way is a sign of life.
      while let stream = await session.boundStream, await stream.idleTime < .milliseconds(500) {
        try await Task.sleep(for: .milliseconds(20))
      }
      try await server.freeze()
      await session.networkChanged(NetworkChange())
      try await server.thaw()
      let states = await states(&events, to: .syncOK)
      #expect(states.prefix(2).map(\.state) == [.netChanged, .loseConnection])
      #expect(states.first?.interface == nil)
      #expect(!states.map(\.state).contains(.waiting))
      #expect(await session.currentStatus().resumes == 1)
    }
    try await server.end()
  }
}
