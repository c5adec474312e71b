import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("A server that is known")
struct KnownServerTests {
  private static let online =
    [ScriptedServer.Step].login(until: .bound) + [
      .client("<iq type='get' id='{roster}'/>"), .server("<iq type='result' id='{roster}'/>"),
      .client("<presence/>"), .client("<presence type='unavailable'/>"), .client("</stream:stream>"),
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
    "takes six round trips over STARTTLS and five over direct TLS, one with SASL2 and its token two less.",
    arguments: TestServer.Kind.allCases, [false, true])
  func roundTrips(kind: TestServer.Kind, directTLS: Bool) async throws {
    let user = try await User(on: kind, directTLS: directTLS)
    var spent: [Int] = []
    var mechanisms: [String] = []
    // An unknown server, a known one, one that chooses no resource, and one that has given what is stored.
    for options in [[], [], ["--resource", "desk"], nil] {
      let result = try await user.imctl.run(
        ["login", user.jid, "--json"] + (options.map { ["--password-stdin"] + user.connection + $0 } ?? []),
        input: options == nil ? "" : user.password)
      #expect(result.status == 0)
      #expect(try result.states == [.linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
      for case .state(let change) in try result.objects(Event.self).map(\.body) {
        spent += [change.roundTrips].compactMap(\.self)
        if change.state == .logining { mechanisms += [change.mechanism].compactMap(\.self) }
      }
      #expect(try await user.imctl.run("logout").status == 0)
    }
    let trips = kind.hasSASL2 ? [6, 5, 6, 5] : [7, 6, 6, 6]
    #expect(spent == trips.map { $0 - (directTLS ? 1 : 0) })
    let scram = kind.hasSASL2 ? "SCRAM-SHA-1-PLUS" : "SCRAM-SHA-1"
    #expect(mechanisms == [scram, scram, scram, kind.hasSASL2 ? "HT-SHA-256-EXPR" : scram])
  }

  @Test("and does not like to be answered before it asked is spoken to step by step, now and later.")
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

  @Test("and had SCRAM does not get to see the password: downgrade.")
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
