import TestSupport
import Testing

@Suite("The scripted server")
struct ScriptedServerTests {
  static let session: [ScriptedServer.Step] = [
    .client("<iq type='get' id='{roster}'><query xmlns='jabber:iq:roster'/></iq>"),
    .server("<iq type='result' id='{roster}'><query xmlns='jabber:iq:roster'/></iq>"),
    .client("<presence/>"),
    .client("<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>"),
    .server("<iq type='result' id='{ping}'/>"),
  ]

  @Test(
    "The scripted server plays a complete login for an independent client.",
    arguments: ["SCRAM-SHA-1", "SCRAM-SHA-256"])
  func login(mechanism: String) async throws {
    let server = try await ScriptedServer(.login(until: .bound, mechanisms: [mechanism]) + Self.session)
    let client = try await Counterpart(
      jid: "alice@\(TestServer.domain)", password: "alice-secret", port: server.port,
      caFile: try await TestAuthority.shared.caFile)
    #expect(client.jid == "alice@im.example/scripted")
    try await server.finished()
    #expect(server.mismatches == [])
    #expect(server.connections == 1)
    #expect(server.receivedInTheClear.contains("<starttls"))
    #expect(!server.receivedInTheClear.contains("<auth"))
    #expect(server.received.contains("<auth"))
    try await client.end()
    try await server.closedByClient()
    try await server.end()
  }

  @Test("The scripted server notices a client that departs from the script.")
  func mismatch() async throws {
    let server = try await ScriptedServer(.init(transcript: "C: <iq type='get'/>"))
    let client = try await ChildProcess("/bin/bash", ["-c", "cat > /dev/tcp/127.0.0.1/\(server.port)"])
    client.write("<stream:stream xmlns='jabber:client' xmlns:stream='s'><presence/>")
    await #expect(throws: TestSupportError.self) { try await server.finished() }
    #expect(server.mismatches.count == 1)
    try await client.stop()
    try await server.end()
  }

  @Test(
    "The scripted server sends bytes slowly or unchanged, and closes the connection.",
    arguments: [ScriptedServer.Step.close, .reset])
  func bytes(ending: ScriptedServer.Step) async throws {
    let server = try await ScriptedServer([
      .server("one "), .drip("two "), .bytes([0xFF, 0x00]), .flood("x", bytes: 1000), ending,
    ])
    let client = try await ChildProcess(
      "/bin/bash",
      ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(server.port); head -c 1010 <&3 | od -An -tx1 | head -1"])
    try await client.output.contains("6f 6e 65 20 74 77 6f 20 ff 00 78")
    try await server.finished()
    try await client.stop()
    try await server.end()
  }
}
