import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A device of a user: imctl with a home of its own, logged in to the user's account.
struct OtherDevice {
  let user: User
  let imctl: IMCTL

  init(of user: User, _ options: String...) async throws {
    self.user = user
    imctl = try await IMCTL()
    let login = try await imctl.run(
      ["login", user.jid, "--password-stdin"] + user.connection + options, input: user.password)
    guard login.status == 0 else { throw TestSupportError("login: \(login)") }
  }

  func state() async throws -> SessionState? {
    try await imctl.run("status", "--json").objects(SessionStatus.self).first?.state
  }

  /// Waits until the session is in a state.
  func becomes(_ wanted: SessionState) async throws {
    do {
      try await eventually("\(wanted)") { try await imctl.session()?.state == wanted }
    } catch {
      let status = try await imctl.run("status", "--json").output
      let log = try await imctl.run("agent", "log").output
      throw TestSupportError("\(error), but \(status)\(log.suffix(4000))")
    }
  }

  func watch(_ events: String) async throws -> ChildProcess { try await imctl.watch("--events", events) }
}

extension User {
  /// The same account in a client that is not ours.
  func foreignDevice(_ resource: String, interests: [String] = []) async throws -> Counterpart {
    try await Counterpart(
      jid: jid + "/" + resource, password: password, port: server.port, caFile: server.caFile,
      interests: interests)
  }

  /// What `devices list` tells, by resource.
  /// The devices as the agent lists them, for a test that waits for some.
  func listedDevices() async throws -> [Device] {
    try await imctl.ask(DevicesListMethod.self, .init(account: jid))?.devices ?? []
  }

  func devices(_ imctl: IMCTL? = nil, _ options: String...) async throws -> [String: Device] {
    let result = try await (imctl ?? self.imctl).run(["devices", "list", "--json"] + options)
    guard result.status == 0 else { throw TestSupportError("devices: \(result)") }
    return try Self.byResource(result)
  }

  static func byResource(_ result: IMCTL.Result) throws -> [String: Device] {
    Dictionary(
      try result.objects(Device.self).map { ($0.resource ?? "", $0) }, uniquingKeysWith: { first, _ in first }
    )
  }

  /// Options of a command that logs in to the account by itself.
  var asUser: [String] { ["--user", jid, "--password-stdin"] + connection }
}

extension IMCTL.Result {
  /// What it has sent, as `-vv` prints it.
  var sent: String { errors.split(separator: "\n").filter { $0.hasPrefix("→") }.joined(separator: "\n") }
}

extension [Event] {
  var messages: [MessageEvent] {
    compactMap { if case .message(let message) = $0.body { message } else { nil } }
  }
  var devices: [DeviceEvent] {
    compactMap { if case .device(let device) = $0.body { device } else { nil } }
  }
}

@Suite("The devices of one account", .serialized, .namesServer)
struct DeviceTests {
  @Test("A kick ends only the named device, and contacts do not see which device sent it.")
  func kick() async { await Everywhere.run(kick) }

  private func kick(on kind: TestServer.Kind) async throws {
    let bob = try await Neighbourhood.counterpart(kind)
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    let tablet = try await user.foreignDevice("tablet")
    for resource in ["desk", "phone", "tablet"] {
      try await bob.sees(user) { $0.from == user.jid + "/" + resource }
    }
    let watch = try await phone.watch("state,kicked")
    let seen = bob.seen(of: user).count
    let kick = try await user.imctl.run("devices", "kick", "phone")
    #expect((kick.output, kick.errors, kick.status) == ("phone kicked\n", "", 0))
    let change = try await watch.state(.kicked)
    #expect(change.cause?.name == .kicked && change.cause?.condition == "conflict")
    try await bob.sees(user, after: seen) { $0.from == user.jid + "/phone" && $0.type == "unavailable" }
    try await tablet.settled()
    #expect(try await user.status().state == .syncOK)
    #expect(try await user.imctl.run("status", "--probe").status == 0)
    // Whatever else there was to see of it has been seen by now.
    try await bob.settled()
    #expect(bob.seen(of: user).dropFirst(seen).map(\.from) == [user.jid + "/phone"])
    let again = try await user.imctl.run("devices", "kick", "phone", "--json")
    #expect((again.output, again.status) == (#"{"resource":"phone","state":"notOnline"}"# + "\n", 1))
    let own = try await user.imctl.run("devices", "kick", "desk", "--json")
    #expect(own.status == 64)
    try await tablet.end()
  }

  @Test(
    "A command with the account's password lists and kicks devices without a login, and stores nothing.")
  func withoutSession() async { await Everywhere.run(withoutSession) }

  private func withoutSession(on kind: TestServer.Kind) async throws {
    let bob = try await Neighbourhood.counterpart(kind)
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    for resource in ["desk", "phone"] {
      try await bob.sees(user) { $0.from == user.jid + "/" + resource }
    }
    let stranger = try await IMCTL()
    let seen = bob.seen(of: user).count
    let kick = try await stranger.run(
      ["devices", "kick", "phone", "-vv"] + user.asUser, input: user.password + "\n")
    #expect((kick.output, kick.status) == ("phone kicked\n", 0))
    #expect(kick.sent.contains("<resource>phone</resource>"))
    for word in ["<presence", "jabber:iq:roster", "<enable"] {
      #expect(!kick.sent.contains(word), "\(word) in \(kick.sent)")
    }
    try await phone.becomes(.kicked)
    try await bob.sees(user, after: seen) { $0.from == user.jid + "/phone" && $0.type == "unavailable" }
    try await bob.settled()
    #expect(bob.seen(of: user).dropFirst(seen).map(\.from) == [user.jid + "/phone"])
    #expect(try await user.status().state == .syncOK)
    // Not even the account is stored, and no agent was started.
    #expect(!FileManager.default.fileExists(atPath: stranger.home + "/.config/imctl/accounts.json"))
    #expect(try await stranger.processes().isEmpty)
    // What is stored of an account stays as it is, byte for byte.
    let before = try Data(contentsOf: URL(filePath: user.accountsPath))
    let wrong = try await user.imctl.run(
      ["devices", "kick", "phone", "--json"] + user.asUser, input: "wrong\n")
    #expect(wrong.status == 77)
    let again = try await user.imctl.run(
      ["devices", "kick", "phone"] + user.asUser, input: user.password + "\n")
    #expect((again.output, again.status) == ("phone was not online\n", 1))
    #expect(try Data(contentsOf: URL(filePath: user.accountsPath)) == before)
  }

  @Test("Each device lists all four devices of the account: three that run imctl and one that does not.")
  func whoSeesWhat() async { await Everywhere.run(whoSeesWhat) }

  private func whoSeesWhat(on kind: TestServer.Kind) async throws {
    let bob = try await Neighbourhood.counterpart(kind)
    let user = try await User(on: kind)
    try await user.goOnline(
      "--resource", "desk", "--device-name", "Schreibtisch 🖥", "--platform", "10", "--device-ext", "room 7")
    let watch = try await user.watch("device")
    let phone = try await OtherDevice(of: user, "--resource", "phone", "--platform", "60")
    // Without presence: seen by what it has published.
    let silent = try await OtherDevice(of: user, "--resource", "silent", "--no-presence")
    let tablet = try await user.foreignDevice("tablet")
    try await bob.sees(user) { $0.from == user.jid + "/tablet" }
    try await eventually("all devices") {
      try await user.listedDevices().filter { $0.id != nil }.count == 3
    }
    let seen = bob.seen(of: user).count
    var table = ["| \(kind): who asks | desk | phone | silent | tablet |", "|---|---|---|---|---|"]
    var views: [(String, [String: Device])] = [
      ("desk", try await user.devices()), ("phone", try await user.devices(phone.imctl)),
      ("silent", try await user.devices(silent.imctl)),
    ]
    let stranger = try await IMCTL()
    let quiet = try await stranger.run(
      ["devices", "list", "--json", "-vv"] + user.asUser, input: user.password + "\n")
    #expect(
      quiet.status == 0 && !quiet.sent.contains("<presence") && !quiet.sent.contains("jabber:iq:roster"))
    views.append(("password only", try User.byResource(quiet)))
    for (asks, devices) in views {
      // A client that publishes nothing is seen by its presence, or where the server lists sessions.
      let seesTablet = !kind.isProsody || ["desk", "phone"].contains(asks)
      #expect(
        Set(devices.keys) == Set(["desk", "phone", "silent"] + (seesTablet ? ["tablet"] : [])), "\(asks)")
      #expect(devices.values.allSatisfy { $0.online }, "\(asks)")
      #expect(devices.values.filter(\.isSelf).map(\.resource) == (devices[asks] == nil ? [] : [asks]))
      let desk = devices["desk"]
      #expect(desk?.name == "Schreibtisch 🖥" && desk?.platform == 10 && desk?.ext == "room 7")
      #expect(desk?.software?.hasPrefix("imctl ") == true && desk?.lastLogin != nil)
      #expect(devices["phone"]?.platform == 60 && devices["phone"]?.name == nil)
      #expect(devices["phone"]?.model != nil)
      if seesTablet {
        #expect(devices["tablet"]?.id == nil && devices["tablet"]?.name == "Slixmpp", "\(asks)")
      }
      let cells = ["desk", "phone", "silent", "tablet"].map { name in
        devices[name].map { ($0.name ?? $0.model ?? "?") + ($0.online ? ", online" : ", offline") } ?? "–"
      }
      table.append("| \(asks) | " + cells.joined(separator: " | ") + " |")
    }
    print(table.joined(separator: "\n"))
    // Nobody else has seen that anybody looked, nor what the devices have told each other.
    try await bob.settled()
    #expect(bob.seen(of: user).count == seen)
    #expect(bob.stanzas.allSatisfy { !$0.xml.contains("urn:imctl") })

    let name = try await phone.imctl.run("devices", "name", "kitchen \u{1f4f1}", "--json")
    #expect(name.status == 0)
    let own = try #require(try name.objects(Device.self).first)
    #expect(own.name == "kitchen \u{1f4f1}" && own.isSelf && own.resource == "phone")
    #expect(own.id.map { !(own.resource ?? "").contains($0) } == true)
    #expect(try await phone.imctl.run("devices", "self", "--json").objects(Device.self).first == own)
    try await eventually("the name") {
      try await user.listedDevices().first { $0.resource == "phone" }?.name == own.name
    }
    #expect(try await phone.imctl.run("logout").status == 0)
    try await eventually("phone offline") {
      try await user.listedDevices().first { $0.resource == "phone" }?.online == false
    }
    try await tablet.end()
    let last = try await watch.output.first("the end of the tablet") { _ in
      try watch.events().devices.first { $0.action == .offline && $0.jid == user.jid + "/tablet" }
    }
    #expect(last.by == .otherDevice)
    let events = try watch.events().devices
    func has(_ action: DeviceEvent.Action, _ resource: String) -> Bool {
      events.contains { $0.action == action && $0.jid == user.jid + "/" + resource && $0.by == .otherDevice }
    }
    #expect(has(.online, "phone") && has(.add, "phone") && has(.rename, "phone") && has(.offline, "phone"))
    #expect(
      !has(.online, "silent") && has(.online, "tablet") && !has(.add, "tablet"), "\(events)")
    // This one tells nobody of what a device without presence publishes.
    #expect(has(.add, "silent") == (kind != .ejabberd24))
    // Who was away hears of it later.
    let replay = try await user.imctl.start(["watch", "--events", "device", "--since", "0", "--json"])
    _ = try await replay.output.first("the end of the tablet") { _ in
      try replay.events().devices.first { $0.action == .offline && $0.jid == user.jid + "/tablet" }
    }
    #expect(try replay.events().devices == events)
  }

  @Test("A kicked device is told which device kicked it, if that device runs imctl.")
  func kickedBy() async { await Everywhere.run(kickedBy) }

  private func kickedBy(on kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline(
      "--resource", "desk", "--device-name", "kitchen iPad", "--platform", "60", "--device-ext", "Anna's")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    let sibling = try await user.foreignDevice("tablet")
    let watch = try await phone.watch("kicked")
    #expect(try await user.imctl.run("devices", "kick", "phone").status == 0)
    let kick = try await watch.output.first("the kick") { _ in try watch.events().kicks.first }
    #expect(kick.by == DeviceIdentity(name: "kitchen iPad", platform: 60, ext: "Anna's"))
    #expect(kick.cause.name == .kicked && kick.cause.codes.contains(206))
    let status = try await phone.imctl.run("status")
    #expect(status.output.contains("by kitchen iPad, platform 60, Anna's"), "\(status)")
    // Nobody else was told.
    try await sibling.settled()
    #expect(sibling.stanzas.allSatisfy { !$0.xml.contains("urn:imctl:kick") })
    try await sibling.end()
    // Somebody else's client says nothing.
    let again = try await phone.imctl.run(
      ["login", user.jid, "--password-stdin"] + user.connection, input: user.password)
    #expect(again.status == 0)
    let foreign = try await user.foreignDevice("phone")
    let second = try await watch.output.first("the second kick") { _ in
      try watch.events().kicks.dropFirst().first
    }
    #expect(second.by == nil)
    try await foreign.end()
  }

  @Test("A device limit ends the oldest device of the platform, and no device of another platform.")
  func limit() async { await Everywhere.run(limit) }

  private func limit(on kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let old = try await OtherDevice(of: user, "--resource", "old", "--platform", "60")
    let middle = try await OtherDevice(of: user, "--resource", "middle", "--platform", "60")
    let other = try await OtherDevice(of: user, "--resource", "other", "--platform", "61")
    let foreign = try await user.foreignDevice("foreign")
    try await eventually("all devices") {
      try await user.devices(other.imctl).values.filter { $0.id != nil }.count == 3
    }
    try await user.goOnline("--resource", "desk", "--platform", "60", "--device-name", "desk")
    let policy = try await user.imctl.run("devices", "policy", "--limit", "60=2", "--json")
    #expect(
      (policy.output, policy.status) == (#"{"check":"token","limits":{"60":2},"policy":"all"}"# + "\n", 0))
    // What is there stays; the next login makes room.
    let stays = try await old.imctl.run("status", "--json")
    #expect(try stays.objects(SessionStatus.self).first?.state == .syncOK, "\(stays)")
    #expect(try await user.imctl.run("logout").status == 0)
    try await user.goOnline()
    try await old.becomes(.kicked)
    #expect(try await old.imctl.run("status").output.contains("by desk, platform 60"))
    try await foreign.settled()
    for device in [middle, other] { #expect(try await device.state() == .syncOK) }
    #expect(try await user.status().state == .syncOK)
    // A single one: all others make way, whatever they are.
    #expect(try await user.imctl.run("devices", "policy", "single").output == "single 60=2\n")
    #expect(try await user.imctl.run("logout").status == 0)
    try await user.goOnline()
    for device in [middle, other] {
      try await device.becomes(.kicked)
    }
    #expect(try await user.status().state == .syncOK)
    try await foreign.end()
  }

  @Test("Two devices whose policy allows only one of them do not go on kicking each other.")
  func fight() async { await Everywhere.run(on: [.prosody, .ejabberd24], fight) }

  private func fight(on kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk", "--on-kick", "fight", "--platform", "60")
    let rival = try await OtherDevice(of: user, "--resource", "phone", "--platform", "60")
    for imctl in [user.imctl, rival.imctl] {
      #expect(try await imctl.run("devices", "policy", "one-per-platform").output == "one-per-platform\n")
    }
    let watch = try await rival.watch("state,kicked")
    #expect(try await rival.imctl.run("logout").status == 0)
    let login = try await rival.imctl.run(
      ["login", user.jid, "--password-stdin"] + user.connection, input: user.password)
    #expect(login.status == 0)
    // Who fights comes back beside the other; a session that only comes back ends nobody's.
    try await eventually("both") {
      let mine = try await user.session()
      let other = try await rival.imctl.session()
      return mine?.sessions == 2 && mine?.state == .syncOK && other?.state == .syncOK
    }
    #expect(try watch.events().kicks.isEmpty)
  }

  @Test("A message to one device of the account arrives on that device only, and only once.")
  func send() async { await Everywhere.run(send) }

  private func send(on kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    let sibling = try await user.foreignDevice("tablet")
    let watch = try await phone.watch("message")
    let own = try await user.watch("message")
    let sent = try await user.imctl.run("devices", "send", "phone", "for you alone", "--json")
    #expect(sent.status == 0 && sent.output.contains(#""state":"sent""#))
    let dead = try await user.imctl.run("devices", "send", "nowhere", "for nobody", "--json")
    #expect(dead.status == 74)
    // The server was not asked for more: it has said nothing.
    #expect(try dead.error.condition == nil)
    #expect(try await user.imctl.run("devices", "send", "desk", "for me").status == 64)
    // Behind it, to see what else has come.
    try sibling.send("last", to: user.jid + "/phone")
    try sibling.send("last", to: user.jid + "/desk")
    for watch in [watch, own] {
      _ = try await watch.output.first("the last message") { _ in
        try watch.events().messages.first { $0.body == "last" }
      }
    }
    try await sibling.settled()
    #expect(sibling.messages.allSatisfy { $0.body != "for you alone" })
    let received = try watch.events().messages.filter { $0.body == "for you alone" }
    #expect(received.count == 1 && received.first?.from == user.jid + "/desk")
    #expect(received.first?.carbon == false)
    #expect(try own.events().messages.filter { $0.body == "for you alone" }.map(\.direction) == [.out])
    #expect(try own.events().messages.allSatisfy { $0.body != "for nobody" })
    let history = try await user.imctl.run("history", user.jid + "/phone", "--json")
    #expect(try history.objects(Event.self).messages.map(\.body) == ["for you alone"])
    try await sibling.end()
  }
}
