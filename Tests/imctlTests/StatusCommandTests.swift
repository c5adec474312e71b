import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("imctl status and whoami")
struct StatusCommandTests {
  @Test("The status of an online account is printed one fact per line, and the exit status is 0.")
  func online() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "status" ? [.result([SessionStatus.alice])] : []
      }
      let result = try await imctl.run("status")
      #expect(
        result.output == """
          account\talice@example.org
          state\tsyncOK since 2025-11-21 02:42
          jid\talice@example.org/res
          presence\taway "lunch", priority 5
          server\t127.0.0.1:15222, TLSv1.3 TLS_AES_256_GCM_SHA384, SCRAM-SHA-1

          """)
      #expect(result.errors == "")
      #expect(result.status == 0)
      agent.end()
    }
  }

  @Test("The JSON object of status has exactly the documented keys.")
  func json() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "status" ? [.result([SessionStatus.alice])] : []
      }
      let result = try await imctl.run("status", "--json")
      #expect(
        result.output == #"{"account":"alice@example.org","fullJID":"alice@example.org/res","#
          + #""idle":null,"lastSeen":null,"nextRetry":null,"presence":{"applied":true,"priority":5,"show":"away","status":"lunch"},"queued":0,"#
          + #""resumable":false,"resumes":0,"server":{"host":"127.0.0.1","mechanism":"SCRAM-SHA-1","#
          + #""port":15222,"roundTrips":null,"software":null,"tls":{"cipher":"TLS_AES_256_GCM_SHA384","version":"TLSv1.3"}},"sessions":1,"#
          + #""since":"2025-11-21T02:42:13.123Z","state":"syncOK","uncertain":0}"# + "\n")
      #expect(result.status == 0)
      agent.end()
    }
  }

  @Test("The numbers of refused stanzas by reason are printed with -v and in the JSON.")
  func refused() async throws {
    try await withIMCTL { imctl in
      var status = SessionStatus.alice
      status.refused = ["stanza": 1, "carbon": 20]
      let attacked = status
      let agent = try FakeAgent(imctl) { call in call.method == "status" ? [.result([attacked])] : [] }
      #expect(try await !imctl.run("status").output.contains("refused"))
      #expect(try await imctl.run("status", "-v").output.hasSuffix("\nrefused\tcarbon 20, stanza 1\n"))
      #expect(try await imctl.run("status", "--json").output.contains(#""refused":{"carbon":20,"stanza":1}"#))
      agent.end()
    }
  }

  @Test("The status of an account that is not online has the cause, and the exit status is 1.")
  func offline() async throws {
    try await withIMCTL { imctl in
      var status = SessionStatus(account: "alice@example.org", state: .kicked)
      status.cause = Failure(
        .kicked, stage: .stream, condition: "conflict", text: "Replaced by new connection")
      let kicked = status
      let agent = try FakeAgent(imctl) { call in call.method == "status" ? [.result([kicked])] : [] }
      let result = try await imctl.run("status")
      #expect(
        result.output.hasPrefix("account\talice@example.org\nstate\tkicked\ncause\tXML stream: "))
      #expect(result.output.contains("conflict: Replaced by new connection"))
      #expect(result.status == 1)
      agent.end()
    }
  }

  @Test("Control characters from a peer are escaped in the text and in the JSON.")
  func hostileText() async throws {
    try await withIMCTL { imctl in
      var status = SessionStatus.alice
      status.presence?.status = "\u{1b}]52;c;AAAA\u{7}\u{9b}2J\r\naccount root\u{202e}\u{200b}"
      let hostile = status
      let agent = try FakeAgent(imctl) { call in call.method == "status" ? [.result([hostile])] : [] }
      let text = try await imctl.run("status")
      #expect(
        text.output.contains(
          #"away "\x1b]52;c;AAAA\x07\x9b2J\r\naccount root\u{202e}\u{200b}""# + ", priority 5\n"))
      #expect(text.output.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || $0.value >= 0x20 })
      let json = try await imctl.run("status", "--json")
      #expect(json.output.contains(#"\u001b]52;c;AAAA\u0007\u009b2J\r\naccount root\u202e\u200b"#))
      agent.end()
    }
  }

  @Test("The option --quiet prints nothing, and the exit status is the same.")
  func quiet() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "status" ? [.result([SessionStatus.alice])] : []
      }
      let result = try await imctl.run("status", "-q")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      agent.end()
    }
  }

  @Test("The option --all prints every account, separated by empty lines.")
  func all() async throws {
    try await withIMCTL { imctl in
      let bob = SessionStatus(account: "bob@example.org", state: .offline)
      let agent = try FakeAgent(imctl) { call in
        call.method == "status" ? [.result([bob, SessionStatus.alice])] : []
      }
      let result = try await imctl.run("status", "--all")
      #expect(result.output.hasPrefix("account\tbob@example.org\nstate\toffline\n\naccount\talice@"))
      #expect(result.status == 0)
      #expect(try agent.parameters(of: StatusMethod.self)?.all == true)
      #expect(try await imctl.run("status", "--all", "--json").lines.count == 2)
      agent.end()
    }
  }

  @Test("Without an agent and without accounts, the status is offline, and no agent is started.")
  func nothingStored() async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run("status")
      #expect(result.output == "state\toffline\n")
      #expect(
        result.errors == "imctl: local store: no account has been set up. Log in first: imctl login JID\n")
      #expect(result.status == 1)
      let json = try await imctl.run("status", "--json")
      #expect(
        json.output
          == #"{"account":"","fullJID":null,"idle":null,"lastSeen":null,"nextRetry":null,"presence":null,"queued":0,"#
          + #""resumable":false,"resumes":0,"server":null,"sessions":0,"since":null,"state":"offline","uncertain":0}"#
          + "\n")
      #expect(json.errors == "")
      #expect(json.status == 1)
      let named = try await imctl.run("status", "--account", "alice@example.org", "--json")
      #expect(
        named.errors.hasPrefix(#"{"error":{"code":33001,"codes":[33001],"condition":null,"exit":78,"hint":"#))
      #expect(named.status == 78)
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("Without an agent, the stored last state is printed.")
  func stored() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(
        #"""
        {"version":1,"default":"alice@example.org","accounts":[
          {"account":"alice@example.org","domain":"example.org","isLogin":false,"store":"password",
           "presence":{"show":"dnd","priority":0},
           "lastState":{"state":"kicked","time":"2025-11-21T02:42:13.123Z",
            "cause":{"name":"kicked","stage":"stream","condition":"conflict"}}},
          {"account":"bob@example.org","domain":"example.org","isLogin":true,"store":"password",
           "lastState":{"state":"syncOK","time":"2025-11-21T02:42:13.123Z"}}]}
        """#, in: imctl)
      let alice = try await imctl.run("status", "--json")
      #expect(alice.output.contains(#""state":"kicked""#))
      #expect(alice.output.contains(#""condition":"conflict""#))
      #expect(alice.output.contains(#""presence":{"applied":false,"priority":0,"show":"dnd","status":null}"#))
      #expect(alice.status == 1)
      let bob = try await imctl.run("status", "-a", "bob@example.org", "--json")
      #expect(bob.output.contains(#""state":"offline""#))
      #expect(bob.status == 1)
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("Without an agent, the queued messages are counted.")
  func queued() async throws {
    try await withIMCTL { imctl in
      try await Accounts.queue(2, in: imctl)
      let text = try await imctl.run("status")
      #expect(text.lines.contains("queued\t2") && text.status == 1)
      let json = try await imctl.run("status", "--all", "--json")
      #expect(json.output.contains(#""queued":2,"#) && json.errors == "")
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("The status command creates no database, and ends with 73 if it cannot read the existing one.")
  func database() async throws {
    try await withIMCTL { imctl in
      let path = imctl.home + "/.local/state/imctl/imctl.sqlite"
      try Accounts.write(Accounts.two, in: imctl)
      #expect(try await imctl.run("status", "--json").output.contains(#""queued":0,"#))
      #expect(!FileManager.default.fileExists(atPath: path))
      try PrivateDirectory.ensure(imctl.home + "/.local/state/imctl")
      let garbage = Data(String(repeating: "no database ", count: 500).utf8)
      #expect(FileManager.default.createFile(atPath: path, contents: garbage))
      let damaged = try await imctl.run("status")
      #expect(damaged.status == 73 && damaged.errors.contains(path))
      #expect(FileManager.default.contents(atPath: path) == garbage)
    }
  }

  @Test("An agent that answers garbage, closes the connection or says nothing does not block the command.")
  func brokenAgent() async throws {
    try await withIMCTL { imctl in
      let garbage = try FakeAgent(imctl) { _ in [.raw("HTTP/1.1 400 Bad Request\r\n\r\n")] }
      let first = try await imctl.run("status")
      #expect(first.status == 69)
      #expect(first.errors.contains("the program that answers on its socket is not an agent"))
      garbage.end()

      // One that closes before it said who it is was just ending: as if none ran.
      let closing = try FakeAgent(imctl) { _ in [.close] }
      #expect(try await imctl.run("status").status == 1)
      closing.end()

      let later = try FakeAgent(imctl) { call in call.method == "status" ? [.close] : [] }
      let third = try await imctl.run("status", "--json")
      #expect(third.status == 69)
      #expect(third.errors.contains(#""name":"agentUnreachable""#))
      later.end()

      let silent = try FakeAgent(imctl) { call in call.method == "status" ? [.waitForClose] : [] }
      let fourth = try await imctl.run("status", "--timeout", "0.2", "--json")
      #expect(fourth.status == 75)
      #expect(fourth.errors.contains(#""name":"connectTimeout""#))
      silent.end()
    }
  }

  @Test("A command that starts no agent accepts the answer of an agent of another version.")
  func otherVersion() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl, version: "0.0.1") { call in
        call.method == "status" ? [.result([SessionStatus.alice])] : []
      }
      #expect(try await imctl.run("status").status == 0)
      #expect(agent.methods == ["status"])
      agent.end()
    }
  }

  @Test("The command whoami prints the bare JID, or an empty line with exit status 1 if nobody is online.")
  func whoami() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "status" ? [.result([SessionStatus.alice])] : []
      }
      let online = try await imctl.run("whoami")
      #expect((online.output, online.errors, online.status) == ("alice@example.org\n", "", 0))
      let json = try await imctl.run("whoami", "--json")
      #expect(json.output == #"{"account":"alice@example.org"}"# + "\n")
      agent.end()
      let nobody = try await imctl.run("whoami")
      #expect((nobody.output, nobody.errors, nobody.status) == ("\n", "", 1))
    }
  }
}
