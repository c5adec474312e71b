import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl login")
struct LoginCommandTests {
  private static let jid = "alice@example.org"
  private static let time = "2025-11-21T02:42:13.123Z"

  private static var result: LoginMethod.Result {
    var result = LoginMethod.Result(
      success: LoginSuccess(userId: jid, fullJID: jid + "/res", milliseconds: 120), already: false)
    result.mechanism = "SCRAM-SHA-1"
    result.tls = TLSSummary(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
    return result
  }

  private static func state(_ state: SessionState, _ previous: SessionState, _ cursor: Int64)
    -> FakeAgent.Move
  {
    var change = StateChange(state: state, previous: previous)
    if state == .linking {
      change.host = "127.0.0.1"
      change.port = 15_222
    }
    if state == .loginFailed {
      change.cause = Failure(.authFailed, stage: .authenticate, condition: "not-authorized")
    }
    return .event(Event(account: jid, time: time, cursor: cursor, body: .state(change)))
  }

  /// An agent that logs in step by step.
  private static func agent(_ imctl: IMCTL, version: String = Version.current) throws -> FakeAgent {
    try FakeAgent(imctl, version: version) { call in
      switch call.method {
      case "watch": [.result(WatchMethod.Result(cursor: 6))]
      case "login":
        [
          state(.linking, .offline, 7), state(.linkOK, .linking, 8), state(.logining, .linkOK, 9),
          state(.loginOK, .logining, 10), state(.syncing, .loginOK, 11), state(.syncOK, .syncing, 12),
          .result(result),
        ]
      case "agent.stop": [.result(EmptyObject()), .become(Version.current), .close]
      default: []
      }
    }
  }

  @Test("A login prints one line with the full JID, the mechanism and the TLS version.")
  func text() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let result = try await imctl.run("login", Self.jid, "--password-stdin", input: "geheim")
      #expect(
        (result.output, result.errors, result.status)
          == ("alice@example.org/res online (SCRAM-SHA-1, TLSv1.3)\n", "", 0))
      #expect(agent.methods == ["watch", "login"])
      let sent = try #require(try agent.parameters(of: LoginMethod.self))
      #expect(sent.account == Self.jid)
      #expect(sent.password == "geheim")
      #expect((0...30).contains(sent.timeout) && sent.timeout > 0)
      #expect(sent.store == nil)
      #expect(sent.options == ConnectionOptions())
      let watched = try #require(try agent.parameters(of: WatchMethod.self))
      #expect(watched.account == Self.jid)
      #expect(
        watched.events == [
          "state", "dataReady", "success", "tokenUnavailable", "kicked", "loginRequired",
        ])
      agent.end()
    }
  }

  @Test("Every option of login reaches the agent, and file paths are made absolute.")
  func options() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let file = imctl.home + "/ca.pem"
      _ = FileManager.default.createFile(atPath: file, contents: Data())
      let pin = (0..<32).map { _ in "Ab" }.joined(separator: ":")
      let result = try await imctl.run(
        [
          "login", Self.jid, "--password-stdin", "--host", "127.0.0.1", "--port", "15222", "--tls", "direct",
          "--ca-file", imctl.home + "/../" + imctl.home.split(separator: "/").last! + "/ca.pem",
          "--cert-sha256", pin, "--resource", "res",
          "--timeout", "2.5", "--presence", "away", "--no-sync", "--no-save", "-q",
        ], input: "p a s s \r\nnot this")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      let sent = try #require(try agent.parameters(of: LoginMethod.self))
      #expect(sent.password == "p a s s ")
      #expect(sent.options.host == "127.0.0.1")
      #expect(sent.options.port == 15_222)
      #expect(sent.options.tls == "direct")
      #expect(sent.options.caFile?.hasSuffix(file) == true)
      #expect(sent.options.caFile?.contains("..") == false)
      #expect(sent.options.certSHA256 == String(repeating: "ab", count: 32))
      #expect(sent.options.resource == "res")
      #expect((0...2.5).contains(sent.timeout) && sent.timeout > 0)
      #expect(sent.presence == .away)
      #expect(sent.noSync)
      #expect(!sent.noPresence)
      #expect(sent.store == StorePolicy.none)
      agent.end()
    }
  }

  @Test("The option --json prints every step as an event, and the success at the end.")
  func json() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let result = try await imctl.run("login", Self.jid, "--password-stdin", "--json", input: "geheim\n")
      #expect((result.errors, result.status) == ("", 0))
      #expect(result.lines.count == 7)
      #expect(
        result.lines.first
          == #"{"account":"alice@example.org","cursor":7,"event":"state","host":"127.0.0.1","port":15222,"#
          + #""previous":"offline","state":"linking","time":"2025-11-21T02:42:13.123Z"}"#)
      let events = try result.objects(Event.self)
      let states = events.compactMap { if case .state(let change) = $0.body { change.state } else { nil } }
      #expect(states == [.linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
      #expect(events.last?.body == Self.result.success.map(Event.Body.success))
      #expect(events.last?.cursor == 12)
      agent.end()
    }
  }

  @Test("The option -v prints the steps of a login on standard error.")
  func verbose() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let result = try await imctl.run("login", Self.jid, "--password-stdin", "-v", input: "geheim\n")
      #expect(
        result.errors == "linking 127.0.0.1:15222\nlinkOK\nlogining\nloginOK\nsyncing\nsyncOK\n")
      #expect(result.lines == ["alice@example.org/res online (SCRAM-SHA-1, TLSv1.3)"])
      agent.end()
    }
  }

  @Test("A refused login ends with the exit status, the message and the hint of its failure.")
  func refused() async throws {
    try await withIMCTL { imctl in
      let failure = Failure(.authFailed, stage: .authenticate, condition: "not-authorized", text: "\u{1b}[2J")
      let agent = try FakeAgent(imctl) { call in
        call.method == "login" ? [Self.state(.loginFailed, .logining, 9), .failure(failure)] : []
      }
      let text = try await imctl.run("login", Self.jid, "--password-stdin", input: "falsch")
      #expect((text.output, text.status) == ("", 77))
      #expect(
        text.errors == "imctl: authentication: wrong user or password; the server said: "
          + "not-authorized: \\x1b[2J\n  Check JID and password, then log in again: imctl login JID\n")
      let chinese = try await imctl.run(
        ["login", Self.jid, "--password-stdin"], input: "falsch", environment: ["LC_ALL": "zh_CN.UTF-8"])
      #expect(chinese.errors.hasPrefix("imctl: 认证：用户名或密码错误；服务器说：not-authorized"))
      let json = try await imctl.run("login", Self.jid, "--password-stdin", "--json", input: "falsch")
      #expect(json.status == 77)
      #expect(json.lines.count == 1)
      #expect(
        json.errors
          == #"{"error":{"code":302,"codes":[302,31004],"condition":"not-authorized","exit":77,"#
          + #""hint":"Check JID and password, then log in again: imctl login JID","#
          + #""message":"authentication: wrong user or password; the server said: not-authorized: \u001b[2J","#
          + #""name":"authFailed","retryable":false,"stage":"authenticate","text":"\u001b[2J"},"#
          + #""result":"loginFailure"}"# + "\n")
      #expect(!(text.errors + json.errors + json.output).contains("falsch"))
      agent.end()
    }
  }

  @Test("A login of an account that is already online succeeds.")
  func already() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        switch call.method {
        case "status": return [.result([SessionStatus.alice])]
        case "login":
          var result = Self.result
          result.already = true
          return [.result(result)]
        default: return []
        }
      }
      // Nothing is stored and there is no terminal: but there is nothing to ask for, either.
      let result = try await imctl.run("login", Self.jid)
      #expect(
        (result.output, result.errors, result.status)
          == (
            "alice@example.org/res online (SCRAM-SHA-1, TLSv1.3)\n",
            "imctl: the account was already online\n", 0
          ))
      let json = try await imctl.run("login", Self.jid, "--json")
      #expect(json.lines.count == 1)
      #expect(try json.objects(Event.self).first?.name == "success")
      agent.end()
    }
  }

  @Test("A login without a password source and without a terminal ends with exit status 64 and a hint.")
  func noSource() async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run("login", Self.jid)
      #expect((result.output, result.status) == ("", 64))
      #expect(result.errors.contains("--password-stdin or --password-command"))
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("A login without a JID and without a terminal uses the last JID, and fails if there is none.")
  func lastJID() async throws {
    try await withIMCTL { imctl in
      let none = try await imctl.run("login", "--password-stdin", input: "geheim")
      #expect(none.status == 64)
      #expect(none.errors.contains("no JID is given"))
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try Self.agent(imctl)
      // Its password is stored: the agent takes that.
      #expect(try await imctl.run("login").status == 0)
      let sent = try #require(try agent.parameters(of: LoginMethod.self))
      #expect(sent.account == Self.jid)
      #expect(sent.password == nil)
      agent.end()
    }
  }

  @Test("On a terminal, login proposes the last JID and asks for the password without echo.")
  func terminal() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(
        #"{"version":1,"last":"alice@example.org","accounts":[]}"#, in: imctl)
      let agent = try Self.agent(imctl)
      let child = try await imctl.start(["login"], terminal: true)
      try await child.output.contains("JID [alice@example.org]: ")
      child.write("\n")
      try await child.output.contains("Password for alice@example.org: ")
      child.write("geheim\n")
      try await child.output.contains("alice@example.org/res online (SCRAM-SHA-1, TLSv1.3)")
      _ = try await child.ended(within: .seconds(90))
      #expect(!child.output.text.contains("geheim"))
      // The progress is removed before the answer.
      #expect(child.output.text.contains("logging in…\r\u{1b}[K"))
      #expect(try agent.parameters(of: LoginMethod.self)?.password == "geheim")
      agent.end()
    }
  }

  @Test("An invalid JID is refused before the user is asked for a password.")
  func noJID() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(#"{"version":1,"last":"alice@example.org","accounts":[]}"#, in: imctl)
      let child = try await imctl.start(["login"], terminal: true)
      try await child.output.contains("JID [alice@example.org]: ")
      child.write("y\n")
      try await child.output.contains("y is not a JID: user@domain")
      let end = try await child.ended(within: .seconds(90))
      #expect(end == .exited(64))
      #expect(!child.output.text.contains("Password"))
    }
  }

  @Test("A password command is split into words without a shell, and the first line of its output is used.")
  func passwordCommand() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let command = #"printf '%s\nnext' "two words" '$HOME'"#
      #expect(try await imctl.run("login", Self.jid, "--password-command", command).status == 0)
      var sent = try #require(try agent.parameters(of: LoginMethod.self))
      #expect(sent.password == "two words")
      #expect(sent.passwordCommand == command)
      #expect(sent.store == .command)
      #expect(
        try await imctl.run("login", Self.jid, "--password-command", command, "--store", "password").status
          == 0)
      sent = try #require(try agent.parameters(of: LoginMethod.self))
      #expect(sent.store == .password)

      let calls = agent.methods.count
      let missing = try await imctl.run("login", Self.jid, "--password-command", "/no/such/command")
      #expect(missing.status == 64)
      #expect(missing.errors.contains("/no/such/command"))
      #expect(try await imctl.run("login", Self.jid, "--password-command", "false").status == 77)
      #expect(try await imctl.run("login", Self.jid, "--password-command", "true", "--json").status == 77)
      #expect(try await imctl.run("login", Self.jid, "--password-command", "echo 'x").status == 64)
      let empty = try await imctl.run("login", Self.jid, "--password-stdin", input: "\n")
      #expect(empty.status == 64)
      #expect(empty.errors.hasPrefix("imctl: invalid parameter (the password is empty)\n"))
      #expect(agent.methods.count == calls)
      agent.end()
    }
  }

  @Test("The option --timeout limits the wait for the password, too, and --timeout 0 sets no limit.")
  func passwordInTime() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let command = try await imctl.run(
        "login", Self.jid, "--password-command", "sleep 1000", "--timeout", "0.2")
      #expect((command.output, command.status) == ("", 75))
      #expect(command.errors.hasPrefix("imctl: no answer in time (waited for --password-command)\n"))
      let input = try await imctl.start(["login", Self.jid, "--password-stdin", "--timeout", "0.2", "--json"])
      #expect(try await input.ended(within: .seconds(90)) == .exited(75))
      #expect(input.errors.text.contains(#""detail":"waited for standard input""#))
      let terminal = try await imctl.start(["login", "--timeout", "0.2"], terminal: true)
      try await terminal.output.contains("waited for standard input")
      _ = try await terminal.ended(within: .seconds(90))
      #expect(agent.methods == [])
      let unbounded = try await imctl.run(
        "login", Self.jid, "--password-command", "printf geheim", "--timeout", "0")
      #expect(unbounded.status == 0)
      #expect(try agent.parameters(of: LoginMethod.self)?.timeout == 0)
      agent.end()
    }
  }

  @Test("A login that SIGINT interrupts ends with exit status 130, and closes its connection to the agent.")
  func interrupt() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in call.method == "login" ? [.waitForClose] : [] }
      let child = try await imctl.start(["login", Self.jid, "--password-stdin", "--json"])
      child.write("geheim\n")
      try await eventually("the call of login") { agent.methods.contains("login") }
      child.send(SIGINT)
      #expect(try await child.ended() == .exited(130))
      #expect(child.output.text == "")
      #expect(
        child.errors.text.hasPrefix(
          #"{"error":{"code":0,"codes":[],"condition":null,"detail":"nothing was changed","exit":130,"#))
      try await eventually("the end of the connection") { agent.closedConnections == 1 }
      agent.end()
    }
  }

  @Test("An agent of another version is replaced before it gets the password.")
  func otherVersion() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, version: "99.0.0")
      #expect(try await imctl.run("login", Self.jid, "--password-stdin", input: "geheim").status == 0)
      #expect(agent.methods == ["agent.stop", "watch", "login"])
      agent.end()
    }
  }

  @Test(
    "Invalid arguments of login end with exit status 64.",
    arguments: [
      ["--tls", "ssl"], ["--port", "0"], ["--port", "65536"], ["--port", "x"], ["--host", ""],
      ["--cert-sha256", "abc"], ["--ca-file", "/no/such/file"], ["--timeout", "-1"], ["--timeout", "inf"],
      ["--password", "geheim"], ["--store", "all"], ["--store", "command"],
      ["--no-save", "--store", "password"],
      ["--password-command", "true"], ["--presence", "lunch"], ["--presence", "away", "--no-presence"],
      ["--resource", ""], ["-a", "bob@example.org"], ["second"], ["-q", "-v"],
    ])
  func usage(arguments: [String]) async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run(["login", Self.jid, "--password-stdin"] + arguments, input: "geheim")
      #expect((result.output, result.status) == ("", 64))
      let json = try await imctl.run(
        ["login", Self.jid, "--password-stdin", "--json"] + arguments, input: "geheim")
      #expect((json.output, json.status) == ("", 64))
      #expect(json.errors.contains(#""name":"invalidParameter""#))
      #expect(!(result.errors + json.errors).contains("geheim") || arguments.contains("geheim"))
    }
  }
}
