import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("Kicking devices: all of them, by name, and as an administrator", .serialized, .namesServer)
struct DeviceKickTests {
  @Test(
    "The command kick --all ends every device that the server lists, and reports which may still be online."
  )
  func kickForeigners() async { await Everywhere.run(kickForeigners) }

  private func kickForeigners(on kind: TestServer.Kind) async throws {
    let server = try await ServersForDevices.server(kind)
    let user = try await User(on: kind, server: server)
    let stranger = try await IMCTL()
    let tablet = try await user.foreignDevice("tablet")
    let all = try await stranger.run(
      ["devices", "kick", "--all"] + user.asUser, input: user.password + "\n")
    if kind.isProsody {
      #expect((all.output, all.status) == ("", 1))
      #expect(all.errors.contains("may still be online"), "\(all)")
    } else {
      #expect((all.output, all.status) == ("tablet kicked\n", 0), "\(all)")
    }
    // With a new password nobody is left, whatever the server lists.
    let phone = try await user.foreignDevice("phone")
    let revoked = try await stranger.run(
      ["devices", "kick", "--all", "--revoke", "--new-password-stdin", "--json"] + user.asUser,
      input: user.password + "\nanother secret\n")
    let left = try revoked.objects(DevicesKickMethod.Outcome.self).compactMap(\.left)
    #expect(left == (kind == .ejabberd24 ? [.tokens] : []), "\(revoked)")
    #expect(revoked.status == (left.isEmpty ? 0 : 1), "\(revoked)")
    let rest = try await stranger.run(
      ["devices", "list", "--json"] + user.asUser, input: "another secret\n")
    #expect(try rest.objects(Device.self).filter(\.online).isEmpty, "\(rest)")
    withExtendedLifetime([tablet, phone]) {}
  }

  @Test("A device is kicked, and gets messages, by the name under which it is listed.")
  func kickByName() async { await Everywhere.run(on: [.prosody, .ejabberd24], kickByName) }

  private func kickByName(on kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone", "--device-name", "Anna's phone")
    try await eventually("the name") {
      try await user.listedDevices().first { $0.resource == "phone" }?.name == "Anna's phone"
    }
    let sent = try await user.imctl.run("devices", "send", "Anna's phone", "hello", "--json")
    #expect(sent.status == 0 && sent.output.contains("phone"), "\(sent)")
    let kick = try await user.imctl.run("devices", "kick", "Anna's phone")
    #expect((kick.output, kick.errors, kick.status) == ("phone kicked\n", "", 0))
    try await phone.becomes(.kicked)
    let again = try await user.imctl.run("devices", "kick", "Anna's phone")
    #expect((again.output, again.status) == ("phone was not online\n", 1))
  }

  @Test("The commands devices list and devices kick do not log in without stored or given credentials.")
  func withoutCredential() async throws {
    let user = try await User()
    #expect(try await user.login("--store", "none").status == 0)
    let watch = try await user.watch("state")
    #expect(try await user.imctl.run("logout").status == 0)
    for words in [["list"], ["kick", "phone"], ["kick", "--all"]] {
      let result = try await user.imctl.run(["devices"] + words + ["--json"])
      #expect([64, 67].contains(result.status), "\(result)")
      #expect(try ["input", "store", "request"].contains(result.error.stage))
    }
    #expect(try watch.events().states.allSatisfy { $0 == .offline })
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    let list = try await user.imctl.run("devices", "list", "--json")
    #expect(list.status == 64)
    let stranger = try await IMCTL()
    #expect(try await [67, 78].contains(stranger.run("devices", "list", "--json").status))
    let alone = try await stranger.run(["devices", "list", "--json", "--user", user.jid] + user.connection)
    #expect(alone.status == 64)
  }

  @Test("An administrator can end the sessions of other accounts, and an ordinary user cannot.")
  func administrator() async { await Everywhere.run(administrator) }

  private func administrator(on kind: TestServer.Kind) async throws {
    let server = try await ServersForDevices.server(kind)
    let user = try await User(on: kind, server: server)
    try await user.goOnline("--resource", "desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    let admin = try await IMCTL()
    let login = try await admin.run(
      ["login", server.jid("bob"), "--password-stdin"] + user.connection, input: server.password("bob"))
    #expect(login.status == 0)
    let mine = try await user.imctl.run(["devices", "kick", "phone", "--of", server.jid("bob"), "--json"])
    #expect(mine.status == 74)
    #expect(try mine.error.condition == "forbidden" || mine.error.condition == "not-allowed")
    let ended = try await admin.run("devices", "kick", "phone", "--of", user.jid)
    #expect((ended.output, ended.errors, ended.status) == ("\(user.jid)/phone kicked\n", "", 0))
    try await phone.becomes(.kicked)
    #expect(try await user.status().state == .syncOK)
    let all = try await admin.run("devices", "kick", "--all", "--of", user.jid)
    #expect((all.output, all.status) == ("\(user.jid) kicked\n", 0))
    try await eventually("the end of all") { try await user.session()?.state == .kicked }
    let nobody = try await admin.run("devices", "kick", "--all", "--of", user.jid, "--json")
    #expect((nobody.output, nobody.status) == (#"{"resource":null,"state":"notOnline"}"# + "\n", 1))
    let none = try await admin.run("devices", "kick", "nowhere", "--of", server.jid("bob"))
    #expect((none.output, none.status) == ("\(server.jid("bob"))/nowhere was not online\n", 1))
  }

  @Test(
    "After kick --all --revoke with a new password, no other device can return with its stored credentials.")
  func kickAll() async { await Everywhere.run(kickAll) }

  private func kickAll(on kind: TestServer.Kind) async throws {
    let server = try await ServersForDevices.server(kind)
    let user = try await User(on: kind, server: server)
    try await user.goOnline("--resource", "desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    let pad = try await OtherDevice(of: user, "--resource", "pad", "--on-kick", "stop")
    // Prosody counts whole seconds: a token of the second in which the password changes stays good.
    try await Task.sleep(for: .seconds(1.1))
    let all = try await user.imctl.run(
      ["devices", "kick", "--all", "--revoke", "--new-password-stdin", "--json"], input: "another secret\n")
    // Of a server that keeps tokens it is said, and those of our devices are ended.
    let left = try all.objects(DevicesKickMethod.Outcome.self).compactMap(\.left)
    #expect(left == (kind == .ejabberd24 ? [.tokens] : []), "\(all)")
    #expect(all.status == (left.isEmpty ? 0 : 1))
    for device in [phone, pad] {
      try await eventually("the end") {
        let state = try await device.imctl.session()?.state
        return state == .kicked || state == .loginFailed
      }
      // What is stored does not help, be it a token, and must come first: a refused password takes the token with it.
      let stored = try await device.imctl.run("login", "--auto", "--forced", "--json")
      #expect(stored.status != 0, "\(stored)")
      let stale = try await device.imctl.run(
        ["login", user.jid, "--password-stdin", "--json"], input: user.password)
      #expect(stale.status == 77)
    }
    try await eventually("the session that goes on") { try await user.session()?.state == .syncOK }
    // Without a session, and with the password of now: none is left.
    let rest = try await phone.imctl.run(
      ["devices", "kick", "--all", "--json"] + user.asUser, input: "another secret\n")
    // Who shows no presence cannot know who else is there, where the server lists no sessions.
    let outcomes = try rest.objects(DevicesKickMethod.Outcome.self)
    #expect(outcomes.compactMap(\.left) == (kind.isProsody ? [.sessions] : []))
    #expect(rest.status == (kind.isProsody ? 1 : 0))
    if !kind.isProsody {
      #expect(rest.output == #"{"resource":"desk","state":"kicked"}"# + "\n")
      try await eventually("the end of the last") { try await user.session()?.state == .kicked }
    }
  }
}

/// Servers on which passwords can be changed, with bob for an administrator.
enum ServersForDevices {
  private actor Running {
    var servers: [TestServer.Kind: Task<TestServer, any Error>] = [:]
    func server(_ kind: TestServer.Kind) async throws -> TestServer {
      var options = Neighbourhood.options(kind)
      options.registration = true
      if kind.isProsody {
        options.extraModules = ["admin_adhoc"]
        options.extraLines = ["admins = { \"bob@\(options.domain)\" }"]
      } else {
        options.extraModules = ["mod_adhoc", "mod_configure"]
        options.hostLines = [
          "acl: {admin: {user: \"bob@\(options.domain)\"}}",
          "access_rules: {c2s: {allow: all}, configure: {allow: admin}}",
        ]
      }
      let task = servers[kind] ?? Task { [options] in try await TestServer(options) }
      servers[kind] = task
      return try await task.value
    }
  }
  private static let running = Running()

  static func server(_ kind: TestServer.Kind) async throws -> TestServer { try await running.server(kind) }
}
