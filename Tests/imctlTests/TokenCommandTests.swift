import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("imctl token")
struct TokenCommandTests {
  private static let file = #"""
    {"version":1,"default":"alice@example.org","accounts":[
      {"account":"alice@example.org","auth":"jwt","isLogin":true,"accessToken":{"token":"given-secret"},
       "tokenCommand":"issue","issuedToken":{"token":"issued-secret","expires":"2999-01-01T00:00:00Z"},
       "token":{"mechanism":"HT-SHA-256-EXPR","secret":"device-secret","expiry":"2000-01-01T00:00:00Z"}},
      {"account":"bob@example.org","password":"password-secret"},
      {"account":"carol@example.org",
       "token":{"mechanism":"HT-SHA-256-NONE","secret":"device-secret","expiry":"2000-01-01T00:00:00Z"}}]}
    """#

  @Test("The commands token show and token list describe the stored tokens without printing them.")
  func show() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Self.file, in: imctl)
      let shown = try await imctl.run("token", "show")
      #expect(
        shown.lines == [
          "alice@example.org\tissued\tjwt\t\t2999-01-01 00:00", "alice@example.org\tgiven\tjwt\t\t",
          "alice@example.org\tdevice\tjwt\tHT-SHA-256-EXPR\texpired 2000-01-01 00:00",
        ])
      let json = try await imctl.run("token", "list", "--json")
      #expect(json.lines.count == 4)
      #expect(
        json.lines.last
          == #"{"account":"carol@example.org","auth":"password","expired":true,"#
          + #""expires":"2000-01-01T00:00:00Z","mechanism":"HT-SHA-256-NONE","use":"device"}"#)
      #expect(!(shown.output + json.output).contains("secret"))
      #expect(try await imctl.run("token", "show", "-a", "bob@example.org").status == 1)
    }
  }

  @Test("The command token print prints the token that is used to log in, and nothing else.")
  func printed() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("token", "print").status == 78)
      try Accounts.write(Self.file, in: imctl)
      #expect(try await imctl.run("token", "print").output == "issued-secret\n")
      let none = try await imctl.run("token", "print", "-a", "bob@example.org")
      #expect((none.output, none.status) == ("", 67))
      try Accounts.write(
        Self.file.replacing(#""password":"#, with: #""isLogin":true,"password":"#), in: imctl)
      let online = try await imctl.run("token", "print", "-a", "bob@example.org")
      #expect((online.output, online.status) == ("", 64))
      #expect(online.errors.contains("no token is stored for bob@example.org"))
      let expired = try await imctl.run("token", "print", "-a", "carol@example.org")
      #expect((expired.output, expired.status) == ("", 79))
      #expect(!expired.errors.contains("device-secret"))
    }
  }

  @Test("The command token revoke asks the agent if one runs.")
  func revoke() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Self.file, in: imctl)
      let agent = try FakeAgent(imctl) { call in
        call.method == "token.revoke" ? [.result(TokenRevokeMethod.Result(revoked: true))] : []
      }
      let result = try await imctl.run("token", "revoke", "--json")
      #expect((result.output, result.status) == ("{\"account\":\"alice@example.org\",\"revoked\":true}\n", 0))
      #expect(try agent.parameters(of: TokenRevokeMethod.self)?.account == "alice@example.org")
      agent.end()
    }
  }

  @Test("Without an agent, token revoke forgets a token that has expired.")
  func alone() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Self.file, in: imctl)
      #expect(try await imctl.run("token", "revoke", "-a", "carol@example.org").status == 0)
      #expect(try await imctl.run("token", "show", "-a", "carol@example.org").status == 1)
      let none = try await imctl.run("token", "revoke", "-a", "carol@example.org", "--json")
      #expect((none.output, none.status) == ("{\"account\":\"carol@example.org\",\"revoked\":false}\n", 0))
    }
  }

  @Test("A logout with --revoke and --forget that cannot revoke the token keeps only the token, and says so.")
  func unrevoked() async throws {
    try await withIMCTL { imctl in
      let file = #"""
        {"version":1,"default":"alice@example.org","accounts":[
          {"account":"alice@example.org","password":"password-secret","isLogin":true,
           "options":{"host":"127.0.0.1","port":1},
           "token":{"mechanism":"HT-SHA-256-NONE","secret":"device-secret","expiry":"2999-01-01T00:00:00Z"}}]}
        """#
      try Accounts.write(file, in: imctl)
      let logout = try await imctl.run("logout", "--revoke", "--forget")
      #expect((logout.output, logout.status) == ("alice@example.org offline\n", 69))
      #expect(logout.errors.contains("imctl token revoke"))
      let stored = try Accounts.read(imctl)
      #expect(stored.contains("device-secret") && !stored.contains("password-secret"))
      #expect(try await imctl.run("login", "--auto").status == 67)
      #expect(try await imctl.run("token", "revoke").status == 69)
      #expect(try Accounts.read(imctl).contains("device-secret"))
    }
  }
}

@Suite("imctl login --auth")
struct LoginKindCommandTests {
  private static let jid = "alice@example.org"

  /// What the agent is asked for.
  private func sent(
    _ arguments: [String], input: String = "", in imctl: IMCTL
  ) async throws -> LoginMethod.Parameters {
    let agent = try FakeAgent(imctl) { call in
      switch call.method {
      case "login":
        [
          .result(
            LoginMethod.Result(
              success: LoginSuccess(userId: Self.jid, fullJID: Self.jid + "/x", milliseconds: 1),
              already: false))
        ]
      case "watch": [.result(WatchMethod.Result(cursor: 1))]
      default: []
      }
    }
    defer { agent.end() }
    let result = try await imctl.run(["login"] + arguments, input: input)
    #expect(result.status == 0, "\(result.errors)")
    return try #require(try agent.parameters(of: LoginMethod.self))
  }

  @Test("The kind of login and its options reach the agent, and imctl does not run the token command itself.")
  func handed() async throws {
    try await withIMCTL { imctl in
      var sent = try await sent([Self.jid, "--auth", "jwt", "--token-stdin"], input: "t\n", in: imctl)
      #expect(sent.auth == .jwt && sent.token == "t" && sent.password == nil && !sent.auto)
      sent = try await self.sent(
        [
          Self.jid, "--token-command", "/no/such/command", "--login-ext", "e", "--max-retries", "3",
          "--store", "command", "--authcid", "other",
        ], in: imctl)
      #expect(sent.auth == nil && sent.tokenCommand == "/no/such/command" && sent.loginExt == "e")
      #expect(sent.maxRetries == 3 && sent.store == .command && sent.authcid == "other")
      sent = try await self.sent(["example.org", "--auth", "anonymous"], in: imctl)
      #expect(sent.auth == .anonymous && sent.account == "example.org" && sent.password == nil)
      sent = try await self.sent(
        ["Me@mail.example", "--auth", "email", "--domain", "example.org", "--password-stdin"],
        input: "geheim\n", in: imctl)
      #expect(sent.account == #"me\40mail.example@example.org"# && sent.auth == .email)
      let document = "{\n \"a\": 1\n}"
      sent = try await self.sent(
        [Self.jid, "--auth", "function", "--payload-stdin"], input: document + "\n", in: imctl)
      #expect(sent.password == document && sent.auth == .function)
      sent = try await self.sent(
        [Self.jid, "--cert", "/etc/hostname", "--key", "/etc/hostname"], in: imctl)
      #expect(sent.auth == .external && sent.certFile == "/etc/hostname")
    }
  }

  @Test("A login with --auto does not ask for a password, and has no time limit by default.")
  func automatic() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(
        #"{"version":1,"accounts":[{"account":"alice@example.org","password":"p","isLogin":true}]}"#,
        in: imctl)
      var sent = try await sent([Self.jid, "--auto", "--forced"], in: imctl)
      #expect(sent.auto && sent.forced && sent.timeout == 0)
      sent = try await self.sent([Self.jid, "--auto", "--timeout", "7"], in: imctl)
      #expect(sent.auto && !sent.forced && (0...7).contains(sent.timeout) && sent.timeout > 0)
    }
  }

  @Test(
    "Conflicting options of login end with exit status 64.",
    arguments: [
      ["--auth", "oauth"], ["--auth", "x"], ["--auth", "jwt", "--password-stdin"],
      ["--auth", "password", "--token-stdin"], ["--auth", "anonymous", "--token-stdin"],
      ["--token-stdin", "--password-stdin"], ["--payload-stdin"], ["--auth", "jwt", "--payload-stdin"],
      ["--auth", "external"], ["--cert", "/etc/hostname"], ["--auth", "email", "--password-stdin"],
      ["--domain", "example.org"], ["--forced"], ["--auto", "--password-stdin"], ["--max-retries", "-1"],
      ["--max-retries", "x"], ["--detach", "--foreground"], ["--ext-in-password", "--token-stdin"],
      ["--token-stdin", "--store", "command"], ["--token-command", "echo 'x"],
      ["--list-mechanisms", "--auto"], ["--list-mechanisms", "--password-stdin"],
      ["--list-mechanisms", "--no-sync"], ["--list-mechanisms", "--authcid", "x"],
      ["--auth", "password", "--cert", "/no/such", "--key", "/no/such"],
      ["--password-stdin", "--cert", "/no/such", "--key", "/no/such"],
      ["--login-ext-command", "'"], ["--login-ext", String(repeating: "a", count: 1025)],
    ])
  func usage(arguments: [String]) async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run(["login", Self.jid, "--json"] + arguments, input: "geheim")
      #expect((result.output, result.status) == ("", 64), "\(arguments)")
      #expect(result.errors.contains(#""exit":64"#))
    }
  }
}
