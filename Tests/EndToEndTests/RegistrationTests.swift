import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

/// Accounts are made, changed and deleted on a server of this suite's own, on which anybody may do so.
@Suite("Registering, changing and deleting an account at its server", .timeLimit(.minutes(10)))
struct RegistrationTests {
  private static let servers = Servers()

  /// One of each kind, started when it is first asked for.
  private actor Servers {
    private var running: [TestServer.Kind: Task<TestServer, any Error>] = [:]
    func server(_ kind: TestServer.Kind) async throws -> TestServer {
      var options = TestServer.Options(kind)
      options.registration = true
      let task = running[kind] ?? Task { [options] in try await TestServer(options) }
      running[kind] = task
      return try await task.value
    }
  }

  /// Somebody who has no account yet.
  private struct Newcomer {
    let imctl: IMCTL
    let server: TestServer
    let jid: String
    let connection: [String]

    init(_ name: String, at kind: TestServer.Kind) async throws {
      imctl = try await IMCTL()
      server = try await RegistrationTests.servers.server(kind)
      jid = server.jid(name)
      connection = [
        "--host", TestServer.host, "--port", String(server.port), "--ca-file", server.caFile,
      ]
    }

    func register(_ password: String, _ options: String...) async throws -> IMCTL.Result {
      try await imctl.run(
        ["account", "register", jid, "--password-stdin"] + connection + options, input: password + "\n")
    }

    func login(_ password: String, _ options: String...) async throws -> IMCTL.Result {
      try await imctl.run(["login", jid, "--password-stdin"] + options, input: password + "\n")
    }

    /// Logs in with another home, as another device would.
    func loginElsewhere(_ password: String) async throws -> Int32 {
      let other = try await IMCTL()
      let result = try await other.run(
        ["login", jid, "--password-stdin", "--no-save"] + connection, input: password + "\n")
      if result.status == 0 { #expect(try await other.run("logout").status == 0) }
      try await other.end()
      return result.status
    }
  }

  @Test(
    "An account is registered, logged in, given another password, and deleted.",
    arguments: TestServer.Kind.allCases)
  func wholeLife(kind: TestServer.Kind) async throws {
    let dora = try await Newcomer("dora", at: kind)
    let registered = try await dora.register("first <secret>")
    #expect(
      (registered.output, registered.errors, registered.status)
        == ("\(dora.jid) registered\n", "imctl: to log in: imctl login \(dora.jid)\n", 0))
    // Nothing secret is stored, nobody is logged in, and the next login needs the password alone.
    #expect(try await dora.imctl.processes().isEmpty)
    let stored = try String(contentsOfFile: dora.imctl.home + "/.config/imctl/accounts.json", encoding: .utf8)
    #expect(!stored.contains("secret"))
    #expect(try await dora.imctl.run("account", "last").output == dora.jid + "\n")
    #expect(try await dora.imctl.run("status").status == 1)
    #expect(try await dora.login("first <secret>").status == 0)

    let taken = try await dora.register("mine!", "--json")
    #expect(taken.status == 74)
    #expect(try taken.error.condition == "conflict")
    #expect(try taken.error.message.contains("this account exists already"))

    // On the running session, which stays.
    let session = try await dora.imctl.run(
      "account", "passwd", "--new-password-stdin", input: "second-secret\n")
    #expect(
      (session.output, session.errors, session.status) == ("\(dora.jid) password changed\n", "", 0))
    #expect(try await dora.imctl.run("status").status == 0)
    #expect(try await dora.loginElsewhere("first <secret>") == 77)
    #expect(try await dora.loginElsewhere("second-secret") == 0)

    // The agent comes back with what is stored.
    #expect(try await dora.imctl.run("agent", "restart").status == 0)
    try await eventually("online again") { try await dora.imctl.session()?.isOnline == true }

    // With the current password, which is verified, on a stream of its own: the session comes back or stays.
    let wrong = try await dora.imctl.run(
      ["account", "passwd", dora.jid, "--password-stdin", "--new-password-stdin", "--json"],
      input: "first <secret>\nthird-secret\n")
    #expect(wrong.status == 77)
    let own = try await dora.imctl.run(
      ["account", "passwd", dora.jid, "--password-stdin", "--new-password-stdin", "--json"],
      input: "second-secret\nthird-secret\n")
    #expect((own.output, own.status) == (#"{"account":"\#(dora.jid)","changed":true}"# + "\n", 0))
    try await eventually("online with the new password") {
      try await dora.imctl.session()?.isOnline == true
    }
    #expect(try await dora.loginElsewhere("second-secret") == 77)

    let unconfirmed = try await dora.imctl.run("account", "delete")
    #expect(unconfirmed.status == 64)
    let deleted = try await dora.imctl.run("account", "delete", "--yes")
    #expect((deleted.output, deleted.errors, deleted.status) == ("\(dora.jid) deleted\n", "", 0))
    #expect(try await dora.imctl.run("account", "list").output == "")
    #expect(try await dora.loginElsewhere("third-secret") == 77)
    try await dora.imctl.end()
  }

  @Test(
    "An account that is stored with SCRAM keys gets new keys when its password is changed.",
    arguments: [TestServer.Kind.prosody, .ejabberd24])
  func keys(kind: TestServer.Kind) async throws {
    let fred = try await Newcomer("fred", at: kind)
    #expect(try await fred.register("first-secret").status == 0)
    #expect(try await fred.login("first-secret", "--store", "keys").status == 0)
    // On the session, and without one.
    for password in ["second-secret", "third-secret"] {
      let changed = try await fred.imctl.run(
        "account", "passwd", "--new-password-stdin", input: password + "\n")
      #expect((changed.errors, changed.status) == ("", 0))
      #expect(try await fred.imctl.run("agent", "stop").status == 0)
    }
    #expect(try await fred.loginElsewhere("third-secret") == 0)
    let stored = try String(
      contentsOfFile: fred.imctl.home + "/.config/imctl/accounts.json", encoding: .utf8)
    #expect(!stored.contains("secret"))
    #expect(try await fred.imctl.run("login", fred.jid).status == 0)
    #expect(try await fred.imctl.run("account", "delete", "--yes").status == 0)
    try await fred.imctl.end()
  }

  @Test(
    "An account's password is changed, and the account is deleted, without a running agent.",
    arguments: TestServer.Kind.allCases)
  func withoutAgent(kind: TestServer.Kind) async throws {
    let emil = try await Newcomer("emil", at: kind)
    #expect(try await emil.register("first-secret").status == 0)
    let nobody = try await emil.imctl.run("account", "passwd", "--new-password-stdin", input: "x\n")
    #expect(nobody.status == 64)
    #expect(nobody.errors.contains("--password-stdin"))
    let changed = try await emil.imctl.run(
      "account", "passwd", "--password-stdin", "--new-password-stdin", "-vv",
      input: "first-secret\nsecond-secret\n")
    #expect(changed.status == 0)
    #expect(changed.errors.contains("linkOK"))
    #expect(changed.errors.contains("jabber:iq:register"))
    #expect(!changed.errors.contains("second-secret"))
    #expect(try await emil.loginElsewhere("first-secret") == 77)
    // An account that is not stored here.
    let other = try await IMCTL()
    let deleted = try await other.run(
      ["account", "delete", emil.jid, "--yes", "--password-command", "echo second-secret", "--json"]
        + emil.connection)
    #expect((deleted.output, deleted.status) == (#"{"account":"\#(emil.jid)","deleted":true}"# + "\n", 0))
    #expect(try await other.run("account", "list").output == "")
    #expect(try await emil.loginElsewhere("second-secret") == 77)
    #expect(try await emil.imctl.processes().isEmpty)
    #expect(try await other.processes().isEmpty)
    try await emil.imctl.end()
    try await other.end()
  }

  @Test(
    "A registration that the server does not allow is refused, and nothing is stored.",
    arguments: TestServer.Kind.allCases)
  func switchedOff(kind: TestServer.Kind) async throws {
    let user = try await User(server: TestServer.shared(kind))
    let arguments = [
      "account", "register", "new@" + user.server.options.domain, "--password-stdin", "--json",
    ]
    let refused = try await user.imctl.run(arguments + user.connection, input: "secret\n")
    #expect(refused.status == 74)
    #expect(try refused.error.message.contains("the server does not allow users to register"))
    #expect(try user.stored().isEmpty)
  }

  @Test(
    "The command login --list-mechanisms needs no account and no agent.",
    arguments: TestServer.Kind.allCases)
  func mechanisms(kind: TestServer.Kind) async throws {
    let user = try await User(server: TestServer.shared(kind))
    let arguments = ["login", "--list-mechanisms", user.server.options.domain] + user.connection
    let text = try await user.imctl.run(arguments)
    #expect((text.errors, text.status) == ("", 0))
    #expect(text.lines.contains("sasl      SCRAM-SHA-1"))
    struct Offer: Decodable {
      var domain: String
      var sasl: [String]
      var fast: [String]
      var registration: Bool
    }
    let json = try await user.imctl.run(arguments + ["--json"])
    let offer = try #require(try json.objects(Offer.self).first)
    #expect(offer.domain == user.server.options.domain)
    #expect(offer.sasl.contains("SCRAM-SHA-1"))
    #expect(!offer.registration)
    #expect(try user.stored().isEmpty)
    #expect(try await user.imctl.processes().isEmpty)
  }
}
