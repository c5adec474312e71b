import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl account import, trust, register, passwd and delete")
struct AccountAtServerTests {
  private func file(_ text: String, in imctl: IMCTL, mode: mode_t = 0o600) throws -> String {
    let path = imctl.home + "/import.json"
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)), chmod(path, mode) == 0
    else { throw TestSupportError("\(path) cannot be written") }
    return path
  }

  @Test("The command account import reads one object or a list, and accepts the misspelt key “passsword”.")
  func importing() async throws {
    try await withIMCTL { imctl in
      let list = try file(
        #"""
        [{"account": "Alice@Example.ORG", "passsword": "geheim1", "domain": "example.org", "isLogin": true},
         {"account": "bob", "password": "geheim2", "domain": "example.org", "nick": "Bob"},
         {"account": "carol@example.org", "isLogin": true}]
        """#, in: imctl)
      let first = try await imctl.run("account", "import", list)
      #expect(
        (first.output, first.errors, first.status)
          == ("alice@example.org added\nbob@example.org added\ncarol@example.org added\n", "", 0))
      let stored = try Accounts.read(imctl)
      #expect(stored.contains(#""password" : "geheim1""#))
      #expect(!stored.contains("passsword"))
      #expect(!stored.contains("nick"))
      // Who has no secret cannot be logged in by the agent.
      #expect(
        try await imctl.run("account", "list").lines == [
          "alice@example.org\tdefault\tlogged in", "bob@example.org\t\t", "carol@example.org\t\t",
        ])
      let input = #"{"account":"dora@example.org","password":"geheim4"}"#
      let one = try await imctl.run("account", "import", "-", "--json", input: input)
      #expect((one.output, one.status) == (#"{"account":"dora@example.org","action":"added"}"# + "\n", 0))
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("The command account import keeps a stored password unless --replace is given.")
  func importingAgain() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let path = try file(
        #"{"accounts":[{"account":"alice@example.org","password":"other"},{"account":"new@example.org"}]}"#,
        in: imctl, mode: 0o644)
      let kept = try await imctl.run("account", "import", path)
      #expect((kept.output, kept.status) == ("alice@example.org kept\nnew@example.org added\n", 0))
      #expect(kept.errors == "imctl: \(path) can be read by other users: delete it, or run chmod 600 on it\n")
      #expect(try !Accounts.read(imctl).contains("other"))
      let replaced = try await imctl.run("account", "import", path, "--replace", "--json")
      #expect(
        replaced.lines == [
          #"{"account":"alice@example.org","action":"changed"}"#,
          #"{"account":"new@example.org","action":"kept"}"#,
        ])
      #expect(try Accounts.read(imctl).contains("other"))
    }
  }

  @Test(
    "The command account import names the place of an error, prints no secret, and stores nothing.",
    arguments: [
      (#"[{"account":"a@example.org"},{"account":"@","password":"geheim"}]"#, "account 2: @ is not a JID"),
      (#"[{"password":"geheim"}]"#, "account 1: no account"),
      (#"{"account":"a","password":"geheim"}"#, "account 1: a has no domain"),
      (
        #"{"account":"a@example.org","domain":"other.org"}"#,
        "account 1: a@example.org is not in the domain other.org"
      ),
      (#"{"account":"a@example.org","password":17}"#, "account 1: password is not a string"),
      (#"{"account":"a@example.org","isLogin":"yes"}"#, "account 1: isLogin is neither true nor false"),
      (
        #"{"account":"a@example.org","password":"geheim","passsword":"other"}"#,
        "account 1: password and passsword differ"
      ),
      (
        #"[{"account":"a@example.org"},{"account":"A@example.org"}]"#, "account 2: a@example.org occurs twice"
      ),
      (#"["a@example.org"]"#, "account 1: not an object"),
      ("17", "neither an object nor a list"),
      ("[\n{\"account\":\"a@example.org\",\n\"password\":\"geheim\"\n}},\n]", "not JSON"),
      ("", "not JSON"),
    ])
  func wrongImport(text: String, why: String) async throws {
    try await withIMCTL { imctl in
      let path = try file(text, in: imctl)
      let result = try await imctl.run("account", "import", path)
      #expect((result.output, result.status) == ("", 64))
      #expect(result.errors.hasPrefix("imctl: invalid parameter (\(path): \(why)"), "\(result.errors)")
      #expect(!result.errors.contains("geheim"))
      #expect(try await imctl.run("account", "list").output == "")
    }
  }

  @Test("The command account import explains an error in the user's language, and in English in its JSON.")
  func wrongImportInChinese() async throws {
    try await withIMCTL { imctl in
      let path = try file(#"[{"account":"a@example.org"},{"account":"A@example.org"}]"#, in: imctl)
      let chinese = ["LANG": "zh_CN.UTF-8"]
      let result = try await imctl.run(["account", "import", path], environment: chinese)
      #expect(
        result.errors.hasPrefix("imctl: 参数无效（\(path)：第 2 个账号：a@example.org 出现了两次）"), "\(result.errors)")
      let json = try await imctl.run(["account", "import", path, "--json"], environment: chinese)
      #expect(
        json.errors.contains(#""detail":"\#(path): account 2: a@example.org occurs twice""#), "\(json.errors)"
      )
      #expect(!json.errors.contains("sentence"))
    }
  }

  @Test("The command account import fails without a readable file and with a store that it cannot use.")
  func importFailures() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("account", "import").status == 64)
      let missing = try await imctl.run("account", "import", imctl.home + "/missing.json")
      #expect(missing.status == 64)
      #expect(missing.errors.contains("No such file"))
      #expect(try await imctl.run("account", "import", imctl.home).status == 64)
      try Accounts.write(Accounts.two, in: imctl)
      #expect(chmod(Accounts.path(imctl), 0o666) == 0)
      let path = try file(#"{"account":"a@example.org"}"#, in: imctl)
      #expect(try await imctl.run("account", "import", path).status == 73)
    }
  }

  @Test("The command account trust shows what is remembered of the server, and forgets it with --reset.")
  func trust() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("account", "trust").status == 78)
      let pin = String(repeating: "ab", count: 32)
      try Accounts.write(
        #"""
        {"version":1,"default":"bob@example.org","accounts":[
          {"account":"bob@example.org","domain":"example.org","isLogin":false,"password":"geheim",
           "store":"password","options":{"certSHA256":"\#(pin)","host":"im.example.org"},
           "server":{"host":"im.example.org","port":5222,"tls":"starttls","mechanism":"SCRAM-SHA-256",
                     "objections":2}}]}
        """#, in: imctl)
      let text = try await imctl.run("account", "trust")
      #expect(
        text.lines == [
          "account\tbob@example.org", "server\tim.example.org:5222, starttls",
          "login\tSCRAM-SHA-256 or stronger", "trusted\tthe certificate with SHA-256 \(pin)",
          "pace\tstep by step",
        ])
      let reset = try await imctl.run("account", "trust", "bob@example.org", "--reset")
      #expect((reset.output, reset.errors, reset.status) == ("", "", 0))
      #expect(
        try await imctl.run("account", "trust", "--json").output
          == #"{"account":"bob@example.org","caFile":null,"certSHA256":null,"host":null,"mechanism":null,"#
          + #""port":null,"stepByStep":null,"tls":null}"# + "\n")
      let stored = try Accounts.read(imctl)
      #expect(stored.contains("geheim"))
      #expect(stored.contains("im.example.org"), "where the user said it is")
    }
  }

  @Test("The commands account passwd and account delete pass their arguments to the agent.")
  func throughAgent() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { call in
        switch call.method {
        case "account.passwd":
          [.result(AccountPasswdMethod.Result(account: "alice@example.org", usesCommand: true))]
        case "account.delete": [.result(AccountDeleteMethod.Result(account: "bob@example.org"))]
        default: []
        }
      }
      let passwd = try await imctl.run(
        "account", "passwd", "Alice@example.org", "--new-password-command", "echo neu", "--password-stdin",
        "--timeout", "9", input: "alt\n")
      #expect((passwd.output, passwd.status) == ("alice@example.org password changed\n", 0))
      #expect(
        passwd.errors == "imctl: the stored --password-command must print the new password from now on\n")
      let sent = try #require(try agent.parameters(of: AccountPasswdMethod.self))
      #expect(
        [sent.account, sent.newPassword, sent.newPasswordCommand, sent.currentPassword]
          == ["alice@example.org", "neu", "echo neu", "alt"])
      #expect(sent.timeout > 0 && sent.timeout <= 9)
      let deleted = try await imctl.run("account", "delete", "--yes", "--json")
      #expect(
        (deleted.output, deleted.status) == (#"{"account":"bob@example.org","deleted":true}"# + "\n", 0))
      #expect(try agent.parameters(of: AccountDeleteMethod.self)?.account == "bob@example.org")
      #expect(try agent.parameters(of: AccountDeleteMethod.self)?.currentPassword == nil)
      agent.end()
    }
  }

  @Test("Missing or wrong arguments of account commands are reported before a server is asked.")
  func usage() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("account", "passwd").status == 78)
      #expect(try await imctl.run("account", "delete", "--yes").status == 78)
      for arguments in [
        ["register"], ["register", "@", "--password-stdin"], ["register", "example.org", "--password-stdin"],
        ["register", "a@example.org"], ["register", "a@example.org", "--password-stdin", "--form", "email"],
        ["register", "a@example.org", "--password-stdin", "--form", "=x"],
        ["register", "a@example.org", "--password-stdin", "--form", "password=x"],
        ["register", "a@example.org", "--password-stdin", "--password-command", "echo x"],
        ["passwd", "a@example.org"], ["passwd", "a@example.org", "-a", "b@example.org"],
        ["passwd", "a@example.org", "--new-password-stdin", "--new-password-command", "echo x"],
        ["passwd", "a@example.org", "--password-stdin", "--new-password-stdin"],
        ["delete", "a@example.org"], ["delete", "a@example.org", "--yes"], ["delete", ""],
        ["trust", "a@example.org", "-a", "b@example.org"],
      ] {
        let result = try await imctl.run(["account"] + arguments, input: "only one line\n")
        #expect(result.status == 64, "\(arguments): \(result)")
        #expect(!result.errors.contains("only one line"))
      }
      #expect(try await imctl.run("account", "list").output == "")
    }
  }

  @Test(
    "On a terminal, account passwd asks for the new password twice, and account delete asks for confirmation."
  )
  func terminal() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { call in
        switch call.method {
        case "account.passwd":
          [.result(AccountPasswdMethod.Result(account: "bob@example.org", usesCommand: false))]
        case "account.delete": [.result(AccountDeleteMethod.Result(account: "bob@example.org"))]
        default: []
        }
      }
      func passwd(_ first: String, _ second: String) async throws -> ChildProcess {
        let child = try await imctl.start(["account", "passwd"], terminal: true)
        try await child.output.contains("New password for bob@example.org: ")
        child.write(first + "\n")
        try await child.output.contains("Again: ")
        child.write(second + "\n")
        _ = try await child.ended(within: .seconds(90))
        #expect(!child.output.text.contains(first))
        return child
      }
      #expect(try await passwd("neu-eins", "neu-zwei").output.text.contains("the two passwords differ"))
      #expect(agent.methods.isEmpty)
      #expect(try await passwd("neu-eins", "neu-eins").output.text.contains("password changed"))
      #expect(try agent.parameters(of: AccountPasswdMethod.self)?.newPassword == "neu-eins")

      for (answer, isDeleted) in [("", false), ("n", false), ("yes", true)] {
        let child = try await imctl.start(["account", "delete"], terminal: true)
        try await child.output.contains("Permanently delete bob@example.org on its server? [y/N] ")
        child.write(answer + "\n")
        _ = try await child.ended(within: .seconds(90))
        #expect(child.output.text.contains(isDeleted ? "bob@example.org deleted" : "cancelled"))
        #expect(agent.methods.contains("account.delete") == isDeleted)
      }
      agent.end()
    }
  }
}
