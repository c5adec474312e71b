import AgentProtocol
import GRDB
import Logging
import TestSupport
import Testing
import XMPPStanza

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

/// What becomes of messages that an earlier agent has handed to a server, at real servers.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutboxRecoveryTests {
  private let home: TemporaryDirectory

  init() throws { home = try TemporaryDirectory() }

  private func session(_ server: TestServer, _ store: LocalStore) throws -> Session {
    try Session(server.jid("alice"), home: home, hub: EventCursor(store: store).hub(), store: store)
  }

  /// One message has arrived and is not known to have, one was lost, one was never handed over.
  private func recover(_ server: TestServer) async throws -> (messages: [Counterpart.Message], uncertain: Int)
  {
    let bob = try await Counterpart("bob", on: server)
    let store = try LocalStore(path: home.paths.database)
    let to = try JID("bob@" + TestServer.domain)
    @Sendable func text(_ id: String) -> OutboxMessage {
      OutboxMessage(id: home.path + id, to: to, body: id, accepted: 1_700_000_000)
    }
    let first = try session(server, store)
    _ = try await first.login(.init(on: server))
    var sending = MessageSendMethod.Parameters(account: nil, messages: [])
    sending.messages = [OutgoingMessage(to: to.description, body: "arrived")]
    sending.messages[0].id = text("arrived").id
    let outcome = try await first.send(sending).outcome()
    #expect(outcome.map(\.state) == [.sent])
    try await bob.message { $0.body == "arrived" }
    await first.close()
    let name = server.jid("alice")
    try await store.change { database in
      // As if the acknowledgement had not come.
      try database.execute(sql: "DELETE FROM messages")
      for (id, isSent) in [("arrived", true), ("lost", true), ("new", false)] {
        var message = text(id)
        message.isSent = isSent
        message.since = isSent ? "" : nil
        _ = try message.accept(name, own: name, database)
      }
    }
    let second = try session(server, store)
    _ = try await second.login(.init(on: server))
    let left = await second.perform { await $0.messages.outbox.flush(within: 60) }
    #expect(left == 0)
    try await bob.settled()
    let uncertain = await second.currentStatus().uncertain
    await second.close()
    try await bob.end()
    return (bob.messages.filter { $0.id.hasPrefix(home.path) }, uncertain)
  }

  @Test(
    "Only messages that the archive lacks are sent again, with their ids and times.",
    arguments: TestServer.Kind.allCases)
  func archive(kind: TestServer.Kind) async throws {
    let (messages, uncertain) = try await recover(TestServer.shared(kind))
    #expect(messages.map(\.body) == ["arrived", "lost", "new"])
    #expect(messages.map(\.delayed) == [false, true, true])
    #expect(messages.map(\.id) == ["arrived", "lost", "new"].map { home.path + $0 })
    #expect(uncertain == 0)
  }

  @Test(
    "Without an archive no message is lost, and possible duplicates are counted.",
    arguments: TestServer.Kind.oneOfEach)
  func noArchive(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.withoutModules = [kind.isProsody ? "mam" : "mod_mam"]
    let server = try await TestServer(options)
    let (messages, uncertain) = try await recover(server)
    #expect(messages.map(\.body) == ["arrived", "arrived", "lost", "new"])
    #expect(uncertain == 2)
    try await server.end()
  }
}
