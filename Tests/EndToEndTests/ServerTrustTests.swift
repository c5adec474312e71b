import TestSupport
import Testing

@Suite("Mechanisms that a server offers and mechanisms that an account requires", .timeLimit(.minutes(6)))
struct ServerTrustTests {
  @Test(
    "The command login --list-mechanisms lists SASL2 mechanisms, too, if it is given an account.",
    arguments: TestServer.Kind.newer
  )
  func sasl2(kind: TestServer.Kind) async throws {
    let user = try await User(server: TestServer.shared(kind))
    let result = try await user.imctl.run(["login", "--list-mechanisms", user.jid] + user.connection)
    #expect(result.status == 0)
    for line in [
      "sasl      SCRAM-SHA-1", "sasl2     SCRAM-SHA-1", "fast      HT-SHA-256-NONE", "feature   bind2",
    ] {
      #expect(result.lines.contains(line), "\(result.output)")
    }
    #expect(result.lines.contains { $0.hasPrefix("binding   tls-exporter") })
  }

  @Test(
    "The command account trust --reset forgets the server, so that a login succeeds after a downgrade."
  )
  func downgrade() async throws {
    let known =
      [ScriptedServer.Step].login(until: .bound) + .synced + [
        .client("<presence type='unavailable'/>"), .client("</stream:stream>"),
        .server("</stream:stream>"),
      ]
    let weaker =
      [ScriptedServer.Step].login(until: .mechanisms, mechanisms: ["PLAIN"]) + [
        .client("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'/>"),
        .server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><not-authorized/></failure>"),
      ]
    let server = try await ScriptedServer(eachConnection: [known, weaker])
    let imctl = try await IMCTL()
    let caFile = try await TestAuthority.shared.caFile
    func login() async throws -> IMCTL.Result {
      try await imctl.run(
        "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
        String(server.port), "--ca-file", caFile, input: "alice-secret")
    }
    #expect(try await login().status == 0)
    #expect(try await imctl.run("logout").status == 0)
    #expect(try await imctl.run("account", "trust").lines.contains("login\tSCRAM-SHA-1 or stronger"))
    let refused = try await login()
    #expect(refused.status == 76)
    #expect(refused.errors.contains("imctl account trust JID --reset"))
    #expect(!server.received.contains("PLAIN"))
    #expect(try await imctl.run("account", "trust", "--reset").status == 0)
    #expect(
      try await imctl.run("account", "trust").output == "account\talice@\(TestServer.domain)\n"
        + "trusted\tthe authorities in \(caFile)\n")
    // From here on it is the user's word that counts.
    let allowed = try await login()
    #expect(allowed.status == 77, "\(allowed)")
    #expect(server.received.contains("mechanism='PLAIN'"))
    try await imctl.end()
    try await server.end()
  }
}
