import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("Logins to a server that is known from an earlier login")
struct KnownServerTests {
  private static let online =
    [ScriptedServer.Step].login(until: .bound) + .synced + [
      .client("<presence type='unavailable'/>"), .client("</stream:stream>"),
      .server("</stream:stream>"),
    ]

  /// Logs in to a scripted server, and out again where that succeeded.
  private func login(_ imctl: IMCTL, to server: ScriptedServer) async throws -> IMCTL.Result {
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--json", "--host", TestServer.host,
      "--port", String(server.port), "--ca-file", try await TestAuthority.shared.caFile,
      input: "alice-secret")
    if result.status == 0 { #expect(try await imctl.run("logout").status == 0) }
    return result
  }

  @Test(
    "A login takes 6 round trips with STARTTLS and 5 with direct TLS, one less with SASL2, two with a token.",
    arguments: TestServer.Kind.allCases, [false, true])
  func roundTrips(kind: TestServer.Kind, directTLS: Bool) async throws {
    let user = try await User(on: kind, directTLS: directTLS)
    var spent: [Int] = []
    var mechanisms: [String] = []
    // An unknown server, a known one, and one that may not choose the resource.
    for options in [[], [], ["--resource", "desk"]] {
      if !spent.isEmpty { #expect(try await user.imctl.run("logout").status == 0) }
      let result = try await user.imctl.run(
        ["login", user.jid, "--json", "--password-stdin"] + user.connection + options, input: user.password)
      #expect(result.status == 0, "\(result.errors)")
      #expect(try result.states == [.linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
      for case .state(let change) in try result.objects(Event.self).map(\.body) {
        spent += [change.roundTrips].compactMap(\.self)
        if change.state == .logining { mechanisms += [change.mechanism].compactMap(\.self) }
      }
    }
    // And one that has given what is stored.
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    #expect(try await user.imctl.run("agent", "start").status == 0)
    try await eventually("a session") { try await user.session()?.state == .syncOK }
    let status = try #require(try await user.status().server)
    spent += [status.roundTrips].compactMap(\.self)
    mechanisms += [status.mechanism].compactMap(\.self)
    let trips = kind.hasSASL2 ? [6, 5, 6, 5] : [7, 6, 6, 6]
    #expect(spent == trips.map { $0 - (directTLS ? 1 : 0) })
    let scram = kind.hasSASL2 ? "SCRAM-SHA-1-PLUS" : "SCRAM-SHA-1"
    #expect(mechanisms == [scram, scram, scram, kind.hasSASL2 ? "HT-SHA-256-EXPR" : scram])
  }

  @Test(
    "A login succeeds on a server that has learned channel binding since the last login.",
    arguments: TestServer.Kind.newer)
  func outdated(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    // As the server was before it learned to.
    let file = URL(filePath: user.accountsPath)
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text.contains("SCRAM-SHA-1-PLUS"))
    try Data(text.replacing("SCRAM-SHA-1-PLUS", with: "SCRAM-SHA-1").utf8).write(to: file)
    for guess in ["SCRAM-SHA-1", "SCRAM-SHA-1-PLUS"] {
      let result = try await user.login("--json")
      #expect(result.status == 0, "\(result.errors)")
      let tried = try result.objects(Event.self).compactMap { event in
        if case .state(let change) = event.body, change.state == .logining { change.mechanism } else { nil }
      }
      #expect(tried == [guess])
      #expect(try await user.status().server?.mechanism == "SCRAM-SHA-1-PLUS")
      #expect(try await user.imctl.run("logout").status == 0)
    }
  }

  @Test(
    "A login to a server that rejects pipelining goes on step by step, and so do later logins."
  )
  func objects() async throws {
    let objection =
      "<?xml version='1.0'?><stream:stream xmlns='jabber:client' version='1.0' id='s1'"
      + " xmlns:stream='http://etherx.jabber.org/streams'><stream:error>"
      + "<unsupported-stanza-type xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>"
    let server = try await ScriptedServer(
      eachConnection: [Self.online, [.header, .server(objection), .close], Self.online, Self.online])
    let imctl = try await IMCTL()
    #expect(try await login(imctl, to: server).status == 0)
    #expect(try await login(imctl, to: server).status == 0)
    #expect(server.connections == 3)
    #expect(try await login(imctl, to: server).status == 0)
    #expect(server.connections == 4)
  }

  @Test("A login does not send the password with PLAIN to a server that offered SCRAM before.")
  func downgrade() async throws {
    let server = try await ScriptedServer(
      eachConnection: [Self.online]
        + Array(repeating: .login(until: .mechanisms, mechanisms: ["PLAIN"]), count: 2))
    let imctl = try await IMCTL()
    #expect(try await login(imctl, to: server).status == 0)
    let result = try await login(imctl, to: server)
    #expect(result.status == 76)
    #expect(result.errors.contains(#""name":"downgrade""#))
    for secret in ["alice-secret", "AGFsaWNlAGFsaWNlLXNlY3JldA"] {
      #expect(!server.received.contains(secret))
    }
  }
}
