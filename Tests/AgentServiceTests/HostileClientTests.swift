import AgentProtocol
import NIOCore
import TestSupport
import Testing

@testable import AgentService

/// What a broken or hostile local program may send. Beside each of them another client is served.
@Suite(.timeLimit(.minutes(6))) struct HostileClientTests {
  private func beside(_ attack: (AgentPaths, FakeService) async throws -> Void) async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { other in
        _ = try await other.call(AgentStatusMethod.self, EmptyObject())
        try await attack(paths, service)
        _ = try await other.call(AgentStatusMethod.self, EmptyObject())
      }
      try await Conversation.with(paths.socket) { later in
        _ = try await later.call(AgentStatusMethod.self, EmptyObject())
      }
    }
  }

  @Test("A line of 100 MB closes the connection long before its end.")
  func endlessLine() async throws {
    try await beside { paths, _ in
      try await Conversation.with(paths.socket) { client in
        let chunk = [UInt8](repeating: 0x7B, count: 1 << 16)
        var sent = 0
        while sent < 100_000_000 {
          do { try await client.send(chunk) } catch { break }
          sent += chunk.count
        }
        #expect(sent < 100_000_000)
      }
    }
  }

  @Test("A line that is not UTF-8 closes the connection with an error.")
  func invalidUTF8() async throws {
    try await beside { paths, service in
      try await Conversation.with(paths.socket) { client in
        try await client.send(
          Array(#"{"jsonrpc":"2.0","id":1,"method":"status"}"#.utf8) + [0xC0, 0x80, 0x0A])
        #expect(await client.line()?.contains("-32700") == true)
        #expect(await client.line() == nil)
      }
      #expect(service.seen.calls.isEmpty)
    }
  }

  @Test("An incomplete line has no effect, however its connection ends.")
  func halfLine() async throws {
    try await beside { paths, service in
      try await Conversation.with(paths.socket) { client in
        try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"agent.stop""#)
        client.finish()
        #expect(await client.line() == nil)
      }
      #expect(service.seen.calls.isEmpty)
    }
  }

  private static let refused: [(line: String, code: Int)] = [
    ("garbage", -32700), ("{", -32700), ("\u{0}", -32700), ("GET / HTTP/1.1\r", -32700),
    ("[]", -32600), ("1e400", -32600), ("{}", -32600),
    (#"{"jsonrpc":"2.0","id":1e400,"method":"status"}"#, -32600),
    (#"{"jsonrpc":"2.0","id":1.5,"method":"status"}"#, -32600),
    (#"[{"jsonrpc":"2.0","id":1,"method":"status"}]"#, -32600),
    (#"{"jsonrpc":"2.0","id":1,"method":"no.such.method"}"#, -32601),
    (#"{"jsonrpc":"2.0","id":1,"method":""}"#, -32601),
    (#"{"jsonrpc":"2.0","id":1,"method":"login"}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","timeout":1e400}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"status","params":{"probe":true,"timeout":1e400}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"status","params":{"probe":true,"timeout":1e300}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"status","params":{"probe":true,"timeout":-1}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"agent.idle","params":{"mode":"asleep"}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","timeout":1e300}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","timeout":-1}}"#, -32602),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","options":{"port":65536}}}"#,
      -32602
    ),
    (#"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","options":{"port":1.5}}}"#, -32602),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","options":{"tls":"none"}}}"#,
      -32602
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","options":{"caFile":"ca.pem"}}}"#,
      -32602
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","options":{"certSHA256":"00"}}}"#,
      -32602
    ),
    (#"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","store":"all"}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"logout","params":{"flush":1e17}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"account.passwd","params":{"account":"a@b"}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"account.passwd","params":{"newPassword":""}}"#, -32602),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"account.passwd","params":{"newPassword":"x","timeout":1e400}}"#,
      -32602
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"account.passwd","params":{"newPassword":"x","options":{"port":0}}}"#,
      -32602
    ),
    (#"{"jsonrpc":"2.0","id":1,"method":"account.delete","params":{"account":7}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"account.delete","params":{"timeout":-1}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"account.delete","params":{"options":{"tls":"none"}}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"presence.set","params":{"show":"away","priority":128}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"presence.set","params":{"show":"away","priority":-129}}"#, -32602),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"presence.set","params":{"show":"away","priority":18446744073709551616}}"#,
      -32602
    ),
    (#"{"jsonrpc":"2.0","id":1,"method":"presence.set","params":{"show":"away","duration":1e99}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"watch","params":{"since":-1}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"watch","params":{"since":18446744073709551616}}"#, -32602),
    (#"{"jsonrpc":"2.0","id":1,"method":"watch","params":{"account":"@@"}}"#, -32000),
  ]

  @Test("An unknown or invalid request is answered with an error, and the connection stays open.")
  func refused() async throws {
    try await beside { paths, service in
      try await Conversation.with(paths.socket) { client in
        for (line, code) in Self.refused {
          try await client.send(line + "\n")
          let answer = try #require(await client.line(), "\(line)")
          #expect(answer.contains("\"code\":\(code),"), "\(line) → \(answer)")
        }
        _ = try await client.call(AgentStatusMethod.self, EmptyObject())
      }
      #expect(service.seen.calls.isEmpty)
    }
  }

  @Test("A status text above the maximum length is refused.")
  func longStatus() async throws {
    try await beside { paths, _ in
      try await Conversation.with(paths.socket) { client in
        var parameters = PresenceSetMethod.Parameters(account: nil, show: .away)
        parameters.status = String(repeating: "x", count: 10_001)
        await #expect(throws: RPCError.self) { try await client.call(PresenceSetMethod.self, parameters) }
      }
    }
  }

  @Test("The agent stops reading from a client that sends requests without end and never reads the answers.")
  func flood() async throws {
    try await beside { paths, service in
      try await Conversation.with(paths.socket) { client in
        let request = RPC.request(StatusMethod.self, id: .number(1), .init(account: nil))
        let burst = ByteBuffer(string: String(repeating: request, count: 1000))
        let outbound = client.outbound
        let flood = Task { while true { try await outbound.write(burst) } }
        // The agent stops reading once its answers are not read.
        var before = -1
        while service.seen.calls.count != before || before == 0 {
          before = service.seen.calls.count
          // Nothing tells that no call comes any more: a while without one must do.
          try await Task.sleep(for: .milliseconds(200))
        }
        flood.cancel()
      }
    }
  }

  @Test("Connections that are opened and dropped leave nothing behind.")
  func churn() async throws {
    try await withAgent { paths, hub, service, server in
      for number in 0..<300 {
        // A slow machine takes its time to see that a client has gone.
        try await eventually { server.clients < 32 }
        try await Conversation.with(paths.socket) { client in
          if number.isMultiple(of: 2) { try await client.send("{\"half") }
          if number.isMultiple(of: 3) {
            try await client.send(RPC.request(WatchMethod.self, id: .number(1), .init()))
          }
        }
      }
      // Connections are accepted in their order: after this one none is left.
      try await Conversation.with(paths.socket) { client in
        _ = try await client.call(AgentStatusMethod.self, EmptyObject())
      }
      try await eventually { server.clients == 0 }
      #expect(hub.subscribers == 0)
      #expect(Set(service.seen.closed).count == service.seen.closed.count)
    }
  }
}
