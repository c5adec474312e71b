import AgentProtocol
import TestSupport
import Testing

@Suite("Commands that a server does not answer", .serialized, .timeLimit(.minutes(5)))
struct UnansweredCommandTests {
  private static let domain = TestServer.domain
  private static let commands = [
    ["contacts", "add", "carol@\(domain)"], ["contacts", "rename", "bob@\(domain)", "Bobby"],
    ["contacts", "group", "bob@\(domain)", "work"], ["contacts", "remove", "bob@\(domain)"],
    ["contacts", "deny", "bob@\(domain)"], ["contacts", "block", "bob@\(domain)"], ["server", "info"],
    ["server", "time", "--fresh"],
    ["server", "version"], ["server", "ping"], ["server", "features"], ["profile", "get"],
    ["profile", "set", "nickname=Alice"], ["devices", "kick", "phone"],
  ]

  /// The beginning of a session with one contact, at a server that has nothing else.
  private static let session: [ScriptedServer.Step] = {
    let roster =
      "<iq type='result' id='{roster}'><query xmlns='jabber:iq:roster'><item jid='bob@\(domain)'"
      + " subscription='both'/></query></iq>"
    var steps: [ScriptedServer.Step] = .login(until: .bound) + .synced
    let answers = steps.count - 3
    steps[answers] = .server(roster + "<iq type='error' id='{carbons}'/><iq type='error' id='{blocked}'/>")
    return steps
  }()

  @Test(
    "A command to which a server gives no complete answer ends at its time limit with exit status 75.",
    arguments: [
      [ScriptedServer.Step.stall],
      [.drip("<message from='bob@\(domain)/x'><body>" + String(repeating: "a ", count: 20_000)), .stall],
    ])
  func timeout(end: [ScriptedServer.Step]) async throws {
    let server = try await ScriptedServer(Self.session + end)
    let imctl = try await IMCTL()
    let login = try await imctl.run(
      "login", "alice@\(Self.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(login.status == 0, "\(login)")
    for command in Self.commands {
      let result = try await imctl.run(command + ["--timeout", "0.5", "--json"])
      #expect(result.status == 75, "\(command): \(result)")
    }
    // None of them has ended the session.
    #expect(try await imctl.run("status").status == 0)
    let logout = try await imctl.run("logout", "--force")
    #expect(logout.status == 0, "\(logout)")
    try await imctl.end()
    try await server.end()
  }
}
