import AgentProtocol
import TestSupport
import Testing

/// How a session takes what a server does when its account is to be changed or deleted.
@Suite("Changing and deleting the account of a running session", .timeLimit(.minutes(6)))
struct AccountDeletionTests {
  private static let online =
    [ScriptedServer.Step].login(until: .bound) + .synced
  private static let asked = ScriptedServer.Step.client(
    "<iq type='set' id='{id}'><query xmlns='jabber:iq:register'><remove/></query></iq>")

  private func withSession(
    _ steps: [ScriptedServer.Step], _ test: (IMCTL, ScriptedServer) async throws -> Void
  ) async throws {
    let server = try await ScriptedServer(Self.online + steps)
    let imctl = try await IMCTL()
    let login = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(login.status == 0)
    try await test(imctl, server)
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "A session goes on, and its account stays stored, where the server refuses to delete the account."
  )
  func refused() async throws {
    let refusal =
      "<iq type='error' id='{id}'><error type='cancel'>"
      + "<not-allowed xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
    try await withSession([Self.asked, .server(refusal), .stall]) { imctl, _ in
      let result = try await imctl.run("account", "delete", "--yes", "--json")
      #expect(result.status == 74)
      #expect(try result.error.condition == "not-allowed")
      #expect(try await imctl.run("status").status == 0)
      #expect(try await imctl.run("account", "list").output.contains("alice@\(TestServer.domain)"))
    }
  }

  @Test(
    "Deleting the account ends its session without a kick, even if the server answers with a stream error."
  )
  func ended() async throws {
    let end =
      "<iq type='result' id='{id}'/><stream:error>"
      + "<not-authorized xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>"
    try await withSession([Self.asked, .server(end), .close]) { imctl, _ in
      let watch = try await imctl.watch("--events", "state")
      let result = try await imctl.run("account", "delete", "--yes")
      #expect((result.output, result.status) == ("alice@\(TestServer.domain) deleted\n", 0))
      #expect(try await imctl.run("account", "list").output == "")
      #expect(try await imctl.run("status").status == 1)
      try await watch.state(.offline)
      #expect(try !watch.events().states.contains(.kicked))
    }
  }

  @Test(
    "An account stays stored if the connection breaks before the server confirms the deletion."
  )
  func lost() async throws {
    try await withSession([Self.asked, .close]) { imctl, _ in
      let result = try await imctl.run("account", "delete", "--yes", "--json")
      #expect(result.status == 75)
      #expect(try await imctl.run("account", "list").output.contains("alice@\(TestServer.domain)"))
    }
  }

  @Test("An account keeps its password and its session where the server refuses the new password.")
  func passwordStays() async throws {
    let steps: [ScriptedServer.Step] = [
      .client(
        "<iq type='set' id='{id}'><query xmlns='jabber:iq:register'><username>alice</username>"
          + "<password>new-secret</password></query></iq>"),
      .server(
        "<iq type='error' id='{id}'><error type='modify'>"
          + "<not-acceptable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"), .stall,
    ]
    try await withSession(steps) { imctl, _ in
      let result = try await imctl.run(
        "account", "passwd", "--new-password-stdin", "--json", input: "new-secret\n")
      #expect(result.status == 74)
      #expect(try result.error.condition == "not-acceptable")
      #expect(!result.errors.contains("new-secret"))
      #expect(try await imctl.run("status").status == 0)
    }
  }
}
