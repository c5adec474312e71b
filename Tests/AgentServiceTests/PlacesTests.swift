import AgentProtocol
import TestSupport
import Testing

@testable import AgentService

@Suite("An agent with many clients", .timeLimit(.minutes(4)))
struct PlacesTests {
  /// Asks; the failure that answers, nil where it was done.
  private func refusal<Method: AgentMethod>(
    _ client: inout Conversation, _ method: Method.Type, _ parameters: Method.Parameters
  ) async throws -> Failure? {
    do {
      _ = try await client.call(method, parameters)
      return nil
    } catch let error as RPCError {
      return error.failure
    }
  }

  private static var message: MessageSendMethod.Parameters {
    .init(account: nil, messages: [OutgoingMessage(to: "b@c", body: "hi")])
  }

  @Test(
    "A crowded agent refuses lasting requests and names its limit, but still answers status, logout and stop."
  )
  func control() async throws {
    try await withAgent(clients: 2) { paths, _, service, _ in
      try await Conversation.with(paths.socket) { first in
        _ = try await first.call(WatchMethod.self, .init())
        try await Conversation.with(paths.socket) { second in
          var hold = PresenceSetMethod.Parameters(account: nil, show: .dnd)
          hold.hold = true
          _ = try await second.call(PresenceSetMethod.self, hold)
          try await Conversation.with(paths.socket) { third in
            for _ in 0..<2 {
              let watch = try await refusal(&third, WatchMethod.self, .init())
              #expect(watch == .tooManyClients(2) && watch?.detail == .agent(.crowded, 2))
              #expect(try await refusal(&third, PresenceSetMethod.self, hold) == .tooManyClients(2))
            }
            #expect(try await refusal(&third, AgentStatusMethod.self, EmptyObject()) == nil)
            #expect(try await refusal(&third, StatusMethod.self, .init(account: nil)) == nil)
            #expect(try await refusal(&third, LogoutMethod.self, .init(account: nil)) == nil)
            #expect(try await refusal(&third, OutboxListMethod.self, .init(account: nil)) == nil)
            // What was refused has taken no place.
            #expect(try await first.call(AgentStatusMethod.self, EmptyObject()).clients == 3)
          }
        }
        // A place that was given up can be taken.
        try await eventually { service.seen.closed.count == 2 }
        try await Conversation.with(paths.socket) { other in
          #expect(try await refusal(&other, WatchMethod.self, .init()) == nil)
          _ = try await other.call(AgentStopMethod.self, EmptyObject())
        }
      }
    }
  }

  @Test("Messages wait in order for a place in a crowded agent, and a client that leaves blocks no other.")
  func messages() async throws {
    try await withAgent(clients: 1) { paths, _, service, server in
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await Conversation.with(paths.socket) { watcher in
          _ = try await watcher.call(WatchMethod.self, .init())
          try await Conversation.with(paths.socket) { gone in
            try await gone.send(RPC.request(MessageSendMethod.self, id: .number(1), Self.message))
            try await eventually { server.places.waiting == 1 }
          }
          try await eventually { server.places.waiting == 0 }
          group.addTask {
            try await Conversation.with(paths.socket) { client in
              var message = Self.message
              message.wait = .none
              _ = try await client.call(MessageSendMethod.self, message)
            }
          }
          try await eventually { server.places.waiting == 1 }
          #expect(!service.seen.calls.contains { $0.hasPrefix("send") })
        }
        try await group.waitForAll()
      }
      #expect(service.seen.calls.filter { $0.hasPrefix("send") } == ["send hi"])
    }
  }

  @Test("Messages that time out before they get a place are refused with the limit and are not accepted.")
  func late() async throws {
    try await withAgent(clients: 1) { paths, _, service, _ in
      try await Conversation.with(paths.socket) { watcher in
        _ = try await watcher.call(WatchMethod.self, .init())
        try await Conversation.with(paths.socket) { client in
          var message = Self.message
          message.timeout = 0.01
          let failure = try await refusal(&client, MessageSendMethod.self, message)
          #expect(failure == .tooManyClients(1))
          let devices = DevicesSendMethod.Parameters(account: nil, resource: "x", body: "hi", timeout: 0.01)
          #expect(try await refusal(&client, DevicesSendMethod.self, devices) == .tooManyClients(1))
        }
      }
      #expect(!service.seen.calls.contains { $0.hasPrefix("send") })
    }
  }

  @Test("Messages that were accepted and wait for the server take up no place.")
  func accepted() async throws {
    try await withAgent(clients: 1) { paths, _, service, server in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<5 {
          group.addTask {
            try await Conversation.with(paths.socket) { client in
              _ = try await client.call(MessageSendMethod.self, Self.message)
            }
          }
        }
        try await eventually { service.seen.sendings.count == 5 }
        #expect(server.clients == 5)
        try await Conversation.with(paths.socket) { client in
          let watch = try await refusal(&client, WatchMethod.self, .init())
          #expect(watch == nil)
        }
        for wait in service.seen.sendings { wait.done("all") }
        try await group.waitForAll()
      }
    }
  }

  @Test(
    "A connection beyond the limit gets an error and is closed, and one that ends makes room for another."
  )
  func connections() async throws {
    try await withAgent(connections: 2) { paths, _, _, server in
      try await Conversation.with(paths.socket) { first in
        _ = try await first.call(AgentStatusMethod.self, EmptyObject())
        try await Conversation.with(paths.socket) { second in
          _ = try await second.call(AgentStatusMethod.self, EmptyObject())
          try await Conversation.with(paths.socket) { client in
            #expect(await client.line()?.contains("it has 2 clients") == true)
            #expect(await client.line() == nil)
          }
        }
        try await eventually { server.clients == 1 }
        try await Conversation.with(paths.socket) { client in
          _ = try await client.call(AgentStatusMethod.self, EmptyObject())
        }
      }
    }
  }

  @Test("The agent serves a thousand watchers and one more client that asks for its status.")
  func thousand() async throws {
    try await withAgent { paths, hub, _, server in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<1000 {
          group.addTask {
            try await Conversation.with(paths.socket) { client in
              _ = try await client.call(WatchMethod.self, .init())
              // The event, then nothing more.
              _ = await client.line()
              #expect(await client.line() == nil)
            }
          }
        }
        try await eventually { server.clients == 1000 }
        try await eventually { hub.subscribers == 1000 }
        try await Conversation.with(paths.socket) { client in
          let status = try await client.call(AgentStatusMethod.self, EmptyObject())
          #expect(status.clients == 1001)
        }
        hub.publish(account: "a@b", .dataReady(code: 0))
        try await Conversation.with(paths.socket) { client in
          _ = try await client.call(AgentStopMethod.self, EmptyObject())
        }
        try await group.waitForAll()
      }
    }
  }
}
