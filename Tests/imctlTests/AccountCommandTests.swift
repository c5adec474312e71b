import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl account and logout")
struct AccountCommandTests {
  @Test("The command account list marks the default account, and prints no secret.")
  func list() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("account", "list").output == "")
      try Accounts.write(Accounts.two, in: imctl)
      let text = try await imctl.run("account", "list")
      #expect(
        (text.output, text.errors, text.status)
          == ("alice@example.org\t\t\nbob@example.org\tdefault\tlogged in\n", "", 0))
      let json = try await imctl.run("account", "list", "--json")
      #expect(
        json.lines == [
          #"{"account":"alice@example.org","default":false,"domain":"example.org","isLogin":false,"#
            + #""store":"password"}"#,
          #"{"account":"bob@example.org","default":true,"domain":"example.org","isLogin":true,"#
            + #""store":"password"}"#,
        ])
    }
  }

  @Test("The command account use changes the default account, and refuses an account that is not stored.")
  func use() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("account", "use", "alice@example.org").status == 78)
      try Accounts.write(Accounts.two, in: imctl)
      let result = try await imctl.run("account", "use", "alice@example.org")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      #expect(try await imctl.run("account", "list").lines.first == "alice@example.org\tdefault\t")
      #expect(try await imctl.run("account", "use", "carol@example.org").status == 67)
      #expect(try await imctl.run("account", "use", "@").status == 64)
      #expect(try await imctl.run("account", "use").status == 64)
    }
  }

  @Test("The command account last prints the JID of the last login.")
  func last() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("account", "last").status == 78)
      try Accounts.write(Accounts.two, in: imctl)
      #expect(try await imctl.run("account", "last").output == "alice@example.org\n")
      #expect(
        try await imctl.run("account", "last", "--json").output == #"{"account":"alice@example.org"}"# + "\n")
    }
  }

  @Test(
    "The command account remove deletes an account through the agent, or by itself if no agent is running.")
  func remove() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { call in
        call.method == "account.remove" ? [.result(EmptyObject())] : []
      }
      let removed = try await imctl.run("account", "remove", "bob@example.org", "--json")
      #expect(
        (removed.output, removed.status) == (#"{"account":"bob@example.org","removed":true}"# + "\n", 0))
      #expect(try agent.parameters(of: AccountRemoveMethod.self)?.account == "bob@example.org")
      agent.end()
      let result = try await imctl.run("account", "remove", "bob@example.org")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      #expect(try await imctl.run("account", "list").output == "alice@example.org\tdefault\t\n")
      #expect(try await imctl.run("account", "remove", "bob@example.org").status == 67)
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("The option --timeout limits the wait for another process that locks the accounts.")
  func timeout() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let lock = open(imctl.home + "/.config/imctl/accounts.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      #expect(flock(lock, LOCK_EX) == 0)
      let arguments = ["account", "use", "alice@example.org"]
      let result = try await imctl.run(arguments + ["--timeout", "0.2"])
      #expect((result.output, result.status) == ("", 75))
      #expect(result.errors.hasPrefix("imctl: no answer in time (waited for the local store)\n"))
      close(lock)
      #expect(try await imctl.run(arguments).status == 0)
      #expect(try await imctl.run("account", "list", "--timeout", "0").lines.count == 2)
      #expect(try await imctl.run("account", "last", "--timeout", "30").status == 0)
    }
  }

  @Test("An accounts.json that others can write to is refused and left unchanged.")
  func unsafeStore() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      #expect(chmod(Accounts.path(imctl), 0o666) == 0)
      let result = try await imctl.run("account", "list", "--json")
      #expect(result.status == 73)
      #expect(result.errors.contains(#""name":"databaseError""#))
      #expect(try Accounts.read(imctl) == Accounts.two)
    }
  }

  @Test("The command logout asks the agent, and prints the accounts that it has logged out.")
  func logout() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "logout" ? [.result(LogoutMethod.Result(accounts: ["alice@example.org"]))] : []
      }
      let text = try await imctl.run("logout", "alice@example.org", "--force", "--forget", "--flush", "2.5")
      #expect((text.output, text.errors, text.status) == ("alice@example.org offline\n", "", 0))
      let sent = try #require(try agent.parameters(of: LogoutMethod.self))
      #expect(sent.account == "alice@example.org")
      #expect(sent.force && sent.forget && !sent.all)
      #expect(sent.flush == 2.5)
      let json = try await imctl.run("logout", "--all", "--json")
      #expect(json.output == #"{"account":"alice@example.org","state":"offline"}"# + "\n")
      #expect(try agent.parameters(of: LogoutMethod.self)?.all == true)
      #expect(try agent.parameters(of: LogoutMethod.self)?.account == nil)
      agent.end()
    }
  }

  @Test(
    "The command logout ends with 87 if messages are unsent, and with 67 if the account is not logged in.")
  func logoutFailures() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "logout" ? [.failure(Failure(.deliveryUnconfirmed, stage: .request))] : []
      }
      #expect(try await imctl.run("logout").status == 87)
      agent.end()
      #expect(try await imctl.run("logout").status == 78)
      // Of all accounts, none may be there, with an agent and without.
      let nobody = try await imctl.run("logout", "--all")
      #expect((nobody.output, nobody.errors, nobody.status) == ("", "", 0))
      try Accounts.write(Accounts.two, in: imctl)
      #expect(try await imctl.run("logout", "alice@example.org").status == 67)
      #expect(try await imctl.run("logout", "--all").status == 0)
      #expect(try await imctl.run("logout", "--all", "alice@example.org").status == 64)
    }
  }

  @Test("Without an agent, logout marks the stored account as logged out, so that no later agent logs it in.")
  func logoutStored() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      #expect(try await imctl.run("logout").output == "bob@example.org offline\n")
      #expect(
        try await imctl.run("account", "list").output == "alice@example.org\t\t\nbob@example.org\tdefault\t\n"
      )
      #expect(try Accounts.read(imctl).split(separator: "geheim").count == 3, "both passwords stay")
      #expect(try await imctl.run("logout", "--forget", "alice@example.org").status == 0)
      #expect(try await imctl.run("account", "list").output == "bob@example.org\tdefault\t\n")
      #expect(try await imctl.run("logout", "--forget", "bob@example.org").status == 0)
      #expect(try !Accounts.read(imctl).contains("geheim"))
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("Without an agent, logout reports the queued messages and keeps them, and logout --force drops them.")
  func logoutQueued() async throws {
    try await withIMCTL { imctl in
      try await Accounts.queue(2, in: imctl)
      let result = try await imctl.run("logout")
      #expect((result.output, result.status) == ("alice@example.org offline\n", 87))
      #expect(result.errors.contains("the account is online: 2"))
      #expect(try await Accounts.queued(imctl) == 2)
      try Accounts.write(Accounts.unreachable, in: imctl)
      #expect(try await imctl.run("logout", "--force").status == 0)
      #expect(try await Accounts.queued(imctl) == 0)
      #expect(try await imctl.run("account", "list").output == "alice@example.org\tdefault\t\n")
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test(
    "Without an agent, logout --forget keeps the account and its messages while messages are queued.",
    arguments: [[], ["--revoke"]] as [[String]])
  func forgetQueued(options: [String]) async throws {
    try await withIMCTL { imctl in
      try await Accounts.queue(1, in: imctl)
      let forget = ["logout", "--forget"] + options
      let result = try await imctl.run(forget + ["--json"])
      #expect((result.lines.count, result.status) == (1, 87))
      #expect(result.errors.contains(#""name":"deliveryUnconfirmed""#))
      #expect(try await Accounts.queued(imctl) == 1)
      #expect(try !Accounts.read(imctl).contains("geheim"))
      let forced = try await imctl.run(forget + ["--force"])
      #expect((forced.errors, forced.status) == ("", 0))
      #expect(try await imctl.run("account", "list").output == "")
      try Accounts.write(Accounts.unreachable, in: imctl)
      #expect(try await Accounts.queued(imctl) == 0)
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test(
    "An accounts.json that others can read is made private, which only the text output without -q reports.")
  func repair() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      for (option, isTold) in [("-v", true), ("-q", false), ("--quiet", false), ("--json", false)] {
        #expect(chmod(Accounts.path(imctl), 0o644) == 0)
        let result = try await imctl.run("account", "list", option)
        #expect(result.status == 0)
        #expect(result.errors.contains("was open to other users") == isTold, "\(option)")
        #expect(isTold || result.errors == "")
        var status = stat()
        let found = stat(Accounts.path(imctl), &status) == 0
        #expect(found && status.st_mode & 0o777 == 0o600)
      }
    }
  }
}
