import AgentProtocol
import TestSupport
import Testing

@Suite("imctl server")
struct ServerCommandTests {
  private static func time(cause: Failure? = nil) -> ServerTime {
    ServerTime(
      account: "alice@example.org", server: "example.org", time: "2025-11-21T02:42:13.123Z", zone: "+01:00",
      ahead: 0.25, age: cause == nil ? 0 : 12.34, cached: cause != nil, cause: cause)
  }
  private static let info: ServerInfoMethod.Result = {
    var info = ServerInfoMethod.Result(account: "alice@example.org", server: "example.org")
    info.identities = [.init(category: "server", type: "im", name: "Pro\u{1b}[2Jsody")]
    info.software = .init(name: "Prosody", version: "0.12.3", os: nil)
    info.contact = ["security": ["mailto:s@example.org"], "abuse": ["mailto:a@example.org"]]
    info.services = [.init(jid: "rooms.example.org", name: nil)]
    info.features = [
      .init(feature: "urn:xmpp:mam:2", server: false, account: true),
      .init(feature: "urn:xmpp:ping", server: true, account: false),
    ]
    return info
  }()

  private static func agent(_ imctl: IMCTL, _ answers: @escaping FakeAgent.Answers) throws -> FakeAgent {
    try FakeAgent(imctl) { $0.method == AgentStatusMethod.name ? [] : answers($0) }
  }

  @Test("The command server time prints the time, and warns if the time is derived from an earlier answer.")
  func time() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl) { _ in [.result(Self.time())] }
      let result = try await imctl.run("server", "time", "--fresh", "-a", "alice@example.org")
      #expect((result.output, result.errors, result.status) == ("2025-11-21T02:42:13.123Z\n", "", 0))
      let question = try #require(try agent.parameters(of: ServerTimeMethod.self))
      #expect(question.fresh && question.account == "alice@example.org" && question.timeout <= 10)
      let json = try await imctl.run("server", "time", "--json")
      #expect(
        json.output
          == #"{"account":"alice@example.org","age":0,"ahead":0.25,"cached":false,"server":"example.org","#
          + #""time":"2025-11-21T02:42:13.123Z","zone":"+01:00"}"# + "\n")
      agent.end()
      let failure = Failure(.stanzaError, stage: .request, condition: "service-unavailable")
      let silent = try Self.agent(imctl) { _ in [.result(Self.time(cause: failure))] }
      let last = try await imctl.run("server", "time")
      #expect((last.output, last.status) == ("2025-11-21T02:42:13.123Z\n", 0))
      #expect(last.errors.hasPrefix("imctl: according to its answer 12.3 s ago: request: "))
      #expect(last.errors.contains("service-unavailable"))
      let marked = try await imctl.run("server", "time", "--json")
      #expect(marked.output.contains(#""cached":true,"cause":{"#) && marked.errors == "")
      silent.end()
    }
  }

  @Test("The server commands print the answers of the server with control characters escaped.")
  func answers() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl) { call in
        switch call.method {
        case ServerVersionMethod.name:
          [
            .result(
              ServerVersionMethod.Result(
                account: "a@b", server: "b",
                software: .init(name: "ejabberd", version: "24.12", os: "unix/linux")))
          ]
        case ServerPingMethod.name:
          [.result(ServerPingMethod.Result(account: "a@b", server: "b", milliseconds: 0.75))]
        default: [.result(Self.info)]
        }
      }
      #expect(try await imctl.run("server", "version").output == "ejabberd 24.12 (unix/linux)\n")
      #expect(
        try await imctl.run("server", "version", "--json").output
          == #"{"account":"a@b","server":"b","software":{"name":"ejabberd","os":"unix/linux","version":"24.12"}}"#
          + "\n")
      #expect(try await imctl.run("server", "ping").output == "0.75 ms\n")
      #expect(
        try await imctl.run("server", "ping", "--json").output
          == #"{"account":"a@b","milliseconds":0.75,"server":"b"}"# + "\n")
      #expect(
        try await imctl.run("server", "info").output == """
          server\texample.org
          identity\tserver/im "Pro\\x1b[2Jsody"
          software\tProsody 0.12.3
          contact\tabuse mailto:a@example.org
          contact\tsecurity mailto:s@example.org
          service\trooms.example.org
          features\t2

          """)
      #expect(try await imctl.run("server", "info", "--json").lines.count == 1)
      #expect(try await imctl.run("server", "features").output == "urn:xmpp:mam:2\nurn:xmpp:ping\n")
      #expect(
        try await imctl.run("server", "features", "--json").lines.first
          == #"{"account":true,"feature":"urn:xmpp:mam:2","server":false}"#)
      agent.end()
    }
  }

  @Test("The server commands end with the exit status of the agent's failure.")
  func failures() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl) { call in
        call.method == ServerPingMethod.name
          ? [.failure(Failure(.stanzaError, stage: .request, condition: "service-unavailable"))]
          : [.failure(Failure(.notLoggedIn, stage: .request))]
      }
      let ping = try await imctl.run("server", "ping")
      #expect(ping.status == 74 && ping.output == "")
      for command in ["time", "version", "info", "features"] {
        #expect(try await imctl.run("server", command, "--json").status == 67)
      }
      agent.end()
    }
  }
}
