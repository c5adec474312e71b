import AgentProtocol
import TestSupport
import Testing

@Suite("Automatic logins with regard to the device that logged in last", .timeLimit(.minutes(6)))
struct LastLoginTests {
  @Test(
    "An automatic login fails unseen if another device has logged in since, unless it is forced.",
    arguments: TestServer.Kind.allCases)
  func last(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--platform", "60")
    // No other has logged in: this one is the last.
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    #expect(try await user.imctl.run("login", "--auto").status == 0)
    let first = try #require(try await user.devices().values.first(where: \.isSelf)?.lastLogin)

    let other = try await OtherDevice(of: user, "--platform", "61")
    try await eventually("the other one's login") {
      try await user.devices(other.imctl).values.first(where: \.isSelf)?.lastLogin ?? "" > first
    }
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    let watch = try await other.watch("presence,device,kicked")
    for _ in 1...2 {
      let refused = try await user.imctl.run("login", "--auto", "--json")
      #expect(refused.status == 84)
      let error = try refused.error
      #expect((error.name, error.code) == ("deviceChanged", 417))
    }
    #expect(try await user.imctl.run("status").status == 1)
    // The next agent knows why, and does not try.
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    let status = try await user.status()
    #expect(status.state == .loginFailed && status.cause?.name == .deviceChanged)
    #expect(try await imported(user).status == 84)
    #expect(try await other.state() == .syncOK)
    // The user says so: now this one is the last.
    #expect(try await user.imctl.run("login", "--auto", "--forced").status == 0)
    let shown: @Sendable () throws -> Int = {
      try watch.events().count {
        if case .presence(let change) = $0.body { change.show == .online } else { false }
      }
    }
    try await eventually("this one's presence") { try shown() > 0 }
    #expect(try shown() == 1)
    // The others are told behind the login.
    let mine = try #require(try await user.devices().first { $0.value.isSelf }?.key)
    let then = try #require(try await user.devices(other.imctl).values.first(where: \.isSelf)?.lastLogin)
    try await eventually("this one's login") {
      try await user.devices(other.imctl)[mine]?.lastLogin ?? "" > then
    }
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    #expect(try await user.imctl.run("login", "--auto").status == 0)
  }

  /// `login --auto` on a machine that has the account from another program's file.
  private func imported(_ user: User) async throws -> IMCTL.Result {
    let stranger = try await IMCTL()
    let file = #"{"account":"\#(user.jid)","password":"\#(user.password)","isLogin":true}"#
    let stored = try await stranger.run(["account", "import", "-"], input: file)
    guard stored.status == 0 else { throw TestSupportError("account import: \(stored)") }
    let login = try await stranger.run(["login", user.jid, "--auto", "--json"] + user.connection)
    try await stranger.end()
    return login
  }

  @Test(
    "A restarted agent logs in even if another device has done so since, unless the policy is --check last."
  )
  func restarted() async throws {
    let user = try await User(on: .ejabberd)
    try await user.goOnline()
    let first = try #require(try await user.devices().values.first(where: \.isSelf)?.lastLogin)
    let other = try await OtherDevice(of: user)
    try await eventually("the other one's login") {
      try await user.devices(other.imctl).values.first(where: \.isSelf)?.lastLogin ?? "" > first
    }
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    try await eventually("the session") { try await user.imctl.session()?.isOnline == true }
    // Now it is the last one itself.
    let mine = try #require(try await user.devices().first { $0.value.isSelf }?.key)
    let then = try #require(try await user.devices(other.imctl).values.first(where: \.isSelf)?.lastLogin)
    try await eventually("this one's login") {
      try await user.devices(other.imctl)[mine]?.lastLogin ?? "" > then
    }
    #expect(try await other.imctl.run("devices", "policy", "--check", "last").status == 0)
    #expect(try await other.imctl.run("agent", "restart").status == 0)
    try await eventually("the refusal") {
      try await other.imctl.session()?.cause?.name
        == .deviceChanged
    }
    #expect(try await user.imctl.run("status").status == 0)
    try await other.imctl.end()
    try await user.imctl.end()
  }

  @Test("A device of a platform whose device limit is 0 is not logged in.")
  func none() async throws {
    let user = try await User()
    try await user.goOnline("--platform", "60")
    #expect(try await user.imctl.run("devices", "policy", "--limit", "60=0").output == "all 60=0\n")
    // An agent that counts sessions: nobody needs it between two commands, which may take long.
    let watch = try await user.watch("success")
    #expect(try await user.imctl.run("logout").status == 0)
    let refused = try await user.login("--json")
    #expect(refused.status == 85)
    #expect(try refused.error.code == 214)
    #expect(try watch.events().isEmpty)
    #expect(try await user.login("--platform", "61").status == 0)
    #expect(try await user.imctl.run("devices", "policy", "--limit", "60=any").output == "all\n")
    #expect(try await user.login("--platform", "60").status == 0)
    for wrong in ["60", "60=", "=1", "60=5", "60=-1", "101=1", "60=1=2", "any=1"] {
      #expect(try await user.imctl.run("devices", "policy", "--limit", wrong).status == 64, "\(wrong)")
    }
  }
}
