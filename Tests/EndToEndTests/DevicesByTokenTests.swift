import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

/// Devices of alice on a server where she logs in with a token, and bob who sees her.
private struct TokenDevices {
  let server: TestServer
  let token: String
  let bob: Counterpart

  init(_ kind: TestServer.Kind, isJWT: Bool) async throws {
    var options = TestServer.Options(kind)
    if isJWT { options.authentication = .jwt } else { options.bearerTokenLifetime = 3600 }
    let server = try await TestServer(options)
    func token(_ name: String) async throws -> String {
      try await JSONWebToken.signed(["jid": .text(server.jid(name)), "exp": 4_000_000_000])
    }
    self.server = server
    self.token = isJWT ? try await token("alice") : server.bearerToken("alice")
    bob = try await Counterpart(
      jid: server.jid("bob"), password: isJWT ? try await token("bob") : server.password("bob"),
      port: server.port, caFile: server.caFile)
  }

  var jid: String { server.jid("alice") }
  var connection: [String] {
    ["--host", TestServer.host, "--port", String(server.port), "--ca-file", server.caFile]
  }

  func device(_ resource: String, _ options: String...) async throws -> IMCTL {
    let imctl = try await IMCTL()
    let words = ["login", jid, "--auth", "token", "--token-stdin", "--resource", resource] + options
    let login = try await imctl.run(words + connection, input: token + "\n")
    guard login.status == 0 else { throw TestSupportError("login: \(login)") }
    try await bob.presence { $0.from == jid + "/" + resource && $0.type == "available" }
    return imctl
  }

  /// What bob has seen of alice.
  func seen() async throws -> [String] {
    try await bob.settled()
    return bob.presences.filter { $0.from.hasPrefix(jid + "/") && $0.type != "error" }
      .map { "\($0.from.dropFirst(jid.count + 1)) \($0.type)" }
  }

  func end() async throws {
    try await bob.end()
    try await server.end()
  }
}

@Suite("Listing and kicking devices with a token in place of a password", .serialized)
struct DevicesByTokenTests {
  @Test(
    "A command with a given token lists and kicks devices without a login, and stores nothing.",
    arguments: [(TestServer.Kind.prosody13, false), (.ejabberd24, false), (.ejabberd24, true)])
  func given(kind: TestServer.Kind, isJWT: Bool) async throws {
    let devices = try await TokenDevices(kind, isJWT: isJWT)
    let desk = try await devices.device("desk")
    let phone = try await devices.device("phone")
    let stranger = try await IMCTL()
    let asUser = ["--user", devices.jid] + devices.connection
    let before = try await devices.seen()
    let list = try await stranger.run(
      ["devices", "list", "--json", "--token-stdin"] + asUser, input: devices.token + "\n")
    #expect(list.status == 0, "\(list.errors)")
    let online = try list.objects(Device.self).filter(\.online)
    #expect(Set(online.map(\.resource)) == ["desk", "phone"])
    // Of a command, too, which is asked once.
    let count = stranger.home + "/calls"
    let script = stranger.home + "/issue"
    try Data("#!/bin/sh\necho call >> \(count)\necho '\(devices.token)'\n".utf8)
      .write(to: URL(filePath: script))
    let kick = try await stranger.run(
      ["devices", "kick", "phone", "--token-command", "/bin/sh \(script)", "-vv"] + asUser)
    #expect((kick.output, kick.status) == ("phone kicked\n", 0), "\(kick.errors)")
    #expect(try String(contentsOf: URL(filePath: count), encoding: .utf8) == "call\n")
    #expect(!kick.errors.contains(devices.token) && !kick.sent.contains("<presence"))
    try await eventually("the kick") {
      try await phone.session()?.state == .kicked
    }
    #expect(try await devices.seen().dropFirst(before.count) == ["phone unavailable"])
    let wrong = try await stranger.run(
      ["devices", "kick", "desk", "--json", "--token-stdin"] + asUser, input: "wrong\n")
    #expect(wrong.status == 77)
    #expect(try wrong.error.name == "tokenIncorrect")
    #expect(try await desk.run("status").status == 0)
    #expect(!FileManager.default.fileExists(atPath: stranger.home + "/.config/imctl/accounts.json"))
    #expect(try await stranger.processes().isEmpty)
    try await devices.end()
  }

  @Test(
    "The stored token of a device lists and kicks other devices, and remains valid.",
    arguments: TestServer.Kind.newer)
  func stored(kind: TestServer.Kind) async throws {
    let devices = try await TokenDevices(kind, isJWT: false)
    let phone = try await devices.device("phone")
    let desk = try await devices.device("desk", "--store", "token")
    #expect(try await desk.run("agent", "stop").status == 0)
    let path = URL(filePath: desk.home + "/.config/imctl/accounts.json")
    let before = try Data(contentsOf: path)
    #expect(!String(decoding: before, as: UTF8.self).contains(devices.token))
    let list = try await desk.run("devices", "list", "--json", "-vv")
    #expect(list.status == 0 && list.sent.contains("mechanism='HT-SHA-256-"), "\(list.errors)")
    #expect(try list.objects(Device.self).filter(\.online).map(\.resource) == ["phone"])
    let kick = try await desk.run("devices", "kick", "--all")
    // Who shows no presence cannot know who else is there, where the server lists no sessions.
    #expect((kick.output, kick.status) == ("phone kicked\n", kind.isProsody ? 1 : 0), "\(kick.errors)")
    try await eventually("the kick") {
      try await phone.session()?.state == .kicked
    }
    #expect(try Data(contentsOf: path) == before)
    let login = try await desk.run("login", "--auto", "--json")
    #expect(login.status == 0, "\(login.errors)")
    let status = try await desk.run("status", "--json").objects(SessionStatus.self).first
    #expect(status?.server?.mechanism?.hasPrefix("HT-SHA-256-") == true)
    try await devices.end()
  }
}
