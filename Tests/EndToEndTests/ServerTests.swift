import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("The command imctl server", .serialized)
struct ServerTests {
  @Test(
    "A logged-in account gets its server's time, version, round-trip time and features.",
    arguments: TestServer.Kind.allCases)
  func questions(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline()
    let imctl = user.imctl
    let time = try #require(
      try await imctl.run("server", "time", "--json").objects(ServerTime.self).first)
    #expect(time.account == user.jid && time.server == TestServer.domain && !time.cached)
    // The same machine: some servers leave fractions out.
    #expect(abs(time.ahead) <= 30)
    #expect(try #require(Timestamp.date(time.time)) > Date(timeIntervalSince1970: 1_700_000_000))
    let again = try await imctl.run("server", "time", "--json").objects(ServerTime.self).first
    #expect(again?.cached == true && again?.cause == nil)
    let version = try await imctl.run("server", "version", "--json").objects(ServerVersionMethod.Result.self)
    #expect(version.first?.software.name?.lowercased() == (kind.isProsody ? "prosody" : "ejabberd"))
    let ping = try await imctl.run("server", "ping", "--json").objects(ServerPingMethod.Result.self)
    #expect(ping.first.map { $0.milliseconds > 0 } == true)
    let info = try #require(
      try await imctl.run("server", "info", "--json").objects(ServerInfoMethod.Result.self).first)
    #expect(info.identities.contains { $0.category == "server" && $0.type == "im" })
    #expect(info.software == version.first?.software)
    #expect(info.features.contains { $0.feature == "urn:xmpp:mam:2" && $0.account })
    #expect(info.features.contains { $0.feature == "urn:xmpp:ping" && $0.server })
    let features = try await imctl.run("server", "features")
    #expect(features.lines == info.features.map(\.feature))
    #expect(try await imctl.run("logout").status == 0)
    let gone = try await imctl.run("server", "time", "--json")
    #expect(gone.status == 67)
    #expect(try gone.error.name == "notLoggedIn")
    try await imctl.end()
  }

  @Test("The command server ping starts an agent and logs the account in if no agent is running.")
  func agentStarts() async throws {
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    let ping = try await user.imctl.run("server", "ping", "--timeout", "30")
    #expect(ping.status == 0 && ping.output.hasSuffix(" ms\n"))
    try await user.imctl.end()
  }
}
