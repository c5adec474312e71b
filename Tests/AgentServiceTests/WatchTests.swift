import AgentProtocol
import TestSupport
import Testing

@testable import AgentService
@testable import AgentStore

@Suite(.timeLimit(.minutes(4))) struct WatchTests {
  private func presence(_ size: Int = 1) -> Event.Body {
    .presence(
      PresenceChange(from: "a@b/c", show: .away, status: String(repeating: "x", count: size), priority: 0))
  }

  @Test("The answer to a watch request has the newest cursor and precedes the requested events.")
  func events() async throws {
    try await withAgent { paths, hub, _, _ in
      try await Conversation.with(paths.socket) { client in
        hub.publish(account: "a@b", .gap)
        var parameters = WatchMethod.Parameters()
        parameters.events = ["presence"]
        parameters.account = "A@B"
        #expect(try await client.call(WatchMethod.self, parameters).cursor == 101)
        hub.publish(account: "a@b", .gap)
        hub.publish(account: "c@d", presence())
        hub.publish(account: "a@b", presence())
        let event = try await client.reply().event()
        #expect(event.cursor == 104 && event.body == presence())
        // Calls are still answered.
        _ = try await client.call(AgentStatusMethod.self, EmptyObject())
      }
      try await eventually { hub.subscribers == 0 }
    }
  }

  @Test("A second watch request of a client replaces the first one.")
  func replaced() async throws {
    try await withAgent { paths, hub, _, _ in
      try await Conversation.with(paths.socket) { client in
        for _ in 0..<1000 { _ = try await client.call(WatchMethod.self, .init()) }
        try await eventually { hub.subscribers == 1 }
        hub.publish(account: "a@b", .gap)
        #expect(try await client.reply().event().cursor == 101)
        #expect(try await client.call(AgentStatusMethod.self, EmptyObject()).clients == 1)
      }
    }
  }

  @Test("Events arrive while another request of the same client is in progress.")
  func duringLogin() async throws {
    try await withAgent { paths, hub, service, _ in
      try await Conversation.with(paths.socket) { client in
        _ = try await client.call(WatchMethod.self, .init())
        try await client.send(RPC.request(LoginMethod.self, id: .number(2), .init(account: "a@b")))
        try await eventually { service.seen.waiting == 1 }
        hub.publish(account: "a@b", .state(StateChange(state: .linking, previous: .offline)))
        #expect(try await client.reply().event().name == "state")
      }
    }
  }

  @Test("A watcher that has closed its sending side still receives events.")
  func halfClosed() async throws {
    try await withAgent { paths, hub, _, _ in
      try await Conversation.with(paths.socket) { client in
        try await client.send(RPC.request(WatchMethod.self, id: .number(1), .init()))
        client.finish()
        _ = try await client.reply()
        hub.publish(account: "a@b", .gap)
        #expect(try await client.reply().event().name == "gap")
      }
      try await eventually { hub.subscribers == 0 }
    }
  }

  @Test("A watcher that does not read is dropped, and other watchers miss no event.")
  func slow() async throws {
    try await withAgent(eventBuffer: 50) { paths, hub, service, server in
      try await Conversation.with(paths.socket) { slow in
        _ = try await slow.call(WatchMethod.self, .init())
        try await Conversation.with(paths.socket) { quick in
          _ = try await quick.call(WatchMethod.self, .init())
          var published = 0
          while server.clients == 2 {
            let event = hub.publish(account: "a@b", presence(4000))
            published += 1
            #expect(try await quick.reply().event() == event)
          }
          #expect(published > 50)
          _ = try await quick.call(AgentStatusMethod.self, EmptyObject())
        }
      }
      try await eventually { service.seen.closed.count == 2 }
      #expect(hub.subscribers == 0)
    }
  }

  @Test("Missed events are replayed first, in order and only once, while new events arrive.")
  func since() async throws {
    let directory = try TemporaryDirectory()
    let store = try LocalStore(path: directory.path + "/data/messages.db")
    try await withAgent(store: store) { paths, hub, _, _ in
      @Sendable func receive(_ count: Int) async throws {
        let reservation = hub.reserve(count)
        let events = try await store.change { database in
          try reservation.cursors.map { cursor in
            let message = StoredMessage(
              direction: .received, sender: "b@c", time: 1, from: "b@c", to: "a@b", body: "\(cursor)")
            _ = try message.insert("a@b", cursor: cursor, database)
            return message.event(account: "a@b", cursor: cursor)
          }
        }
        hub.fulfil(reservation, with: events)
      }
      try await receive(3000)
      try await Conversation.with(paths.socket) { client in
        var parameters = WatchMethod.Parameters()
        parameters.since = 600
        #expect(try await client.call(WatchMethod.self, parameters).cursor == 3100)
        async let more: Void = receive(2500)
        for cursor in 601...5600 { #expect(try await client.reply().event().cursor == Int64(cursor)) }
        try await more
      }
    }
  }

  @Test("A watch request replays no event if the agent has no store.")
  func noStore() async throws {
    try await withAgent { paths, hub, _, _ in
      try await Conversation.with(paths.socket) { client in
        var parameters = WatchMethod.Parameters()
        parameters.since = 0
        _ = try await client.call(WatchMethod.self, parameters)
        hub.publish(account: "a@b", .gap)
        #expect(try await client.reply().event().cursor == 101)
      }
    }
  }
}
