import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl watch")
struct WatchCommandTests {
  private static let events: [Event] = {
    let time = "2025-11-21T02:42:13.123Z"
    let jid = "alice@example.org"
    var change = StateChange(state: .waiting, previous: .loseConnection)
    change.cause = Failure(.networkError, stage: .stream)
    change.attempt = 2
    change.retryIn = 1.5
    return [
      Event(account: jid, time: time, cursor: 1, body: .state(change)),
      Event(account: jid, time: time, cursor: 2, body: .dataReady(code: 0)),
      Event(
        account: jid, time: time, cursor: 3,
        body: .presence(
          PresenceChange(from: "bob@example.org/\u{202e}gpj", show: .away, status: "a\nb", priority: 1))),
    ]
  }()

  private static func agent(_ imctl: IMCTL, then last: FakeAgent.Move) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      call.method == "watch"
        ? [.result(WatchMethod.Result(cursor: 0))] + events.map(FakeAgent.Move.event) + [last] : []
    }
  }

  @Test("The command watch prints one line for each event, and ends with exit status 69 when the agent ends.")
  func text() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, then: .close)
      let result = try await imctl.run(
        "watch", "--events", "state,presence,dataReady", "-a", "alice@example.org")
      #expect(
        result.output == """
          2025-11-21 02:42\talice@example.org\tstate\talice@example.org\tloseConnection -> waiting attempt 2 \
          next attempt in 1.5 s (XML stream: network problem)
          2025-11-21 02:42\talice@example.org\tdataReady\talice@example.org\t0
          2025-11-21 02:42\talice@example.org\tpresence\tbob@example.org\taway "a\\nb", priority 1

          """)
      #expect(
        result.errors.hasPrefix("imctl: request: the agent cannot be reached (it closed the connection)\n"))
      #expect(result.status == 69)
      let sent = try #require(try agent.parameters(of: WatchMethod.self))
      #expect(sent.events == ["state", "presence", "dataReady"])
      #expect(sent.account == "alice@example.org")
      agent.end()
    }
  }

  @Test(
    "A line marks corrections and retractions, and prints /me in the third person, with escaped characters.")
  func messages() async throws {
    try await withIMCTL { imctl in
      func message(_ body: String?, replaces: String? = nil, retracts: String? = nil, type: String = "chat")
        -> Event.Body
      {
        .message(
          MessageEvent(
            from: type == "chat" ? "bob@c/x" : "room@c/Bob", to: "a@b", direction: .in, type: type,
            body: body,
            replaces: replaces, retracts: retracts))
      }
      let bodies: [Event.Body] = [
        message("/me waves\u{1b}[2J"), message("/me waves", type: "groupchat"),
        message("new", replaces: "1\n"),
        message(nil, retracts: "2"),
        .receipt(ReceiptEvent(id: "3", kind: .failed, from: "c@d", condition: "gone", text: "\u{7}moved")),
        .receipt(ReceiptEvent(id: "4", kind: .displayed, from: "bob@c/\u{202e}")),
        .chatState(ChatStateEvent(from: "bob@c/x", state: "composing")),
      ]
      let agent = try FakeAgent(imctl) { call in
        let events = bodies.map { Event(account: "a@b", time: "T", cursor: 1, body: $0) }
        return call.method == "watch"
          ? [.result(WatchMethod.Result(cursor: 0))] + events.map(FakeAgent.Move.event) + [.close] : []
      }
      let result = try await imctl.run("watch", "--events", "message,receipt,chatState")
      #expect(
        result.lines == [
          "T\ta@b\tmessage\tbob@c\t* bob waves\\x1b[2J", "T\ta@b\tmessage\tBob\t* Bob waves",
          "T\ta@b\tmessage\tbob@c\t(corrects 1\\n) new", "T\ta@b\tmessage\tbob@c\t(retracts 2) ",
          "T\ta@b\treceipt\tc@d\tfailed 3 gone: \\x07moved", "T\ta@b\treceipt\tbob@c\tdisplayed 4",
          "T\ta@b\tchatState\tbob@c\tcomposing",
        ])
      agent.end()
    }
  }

  @Test(
    "On a terminal, messages are wrapped below their beginning, and another account is named above its events."
  )
  func terminal() async throws {
    try await withIMCTL { imctl in
      func event(_ account: String, _ body: String) -> Event {
        Event(
          account: account, time: "2025-11-21T02:42:13.123Z", cursor: 1,
          body: .message(MessageEvent(from: "bob@c/x", to: account, direction: .in, type: "chat", body: body))
        )
      }
      let events = [event("a@b", "one two three four five\nsix\u{1b}"), event("d@e", "hi")]
      let agent = try FakeAgent(imctl) { call in
        call.method == "watch"
          ? [.result(WatchMethod.Result(cursor: 0))] + events.map(FakeAgent.Move.event) + [.close] : []
      }
      let child = try await imctl.start(
        ["watch"], terminal: true, environment: ["COLUMNS": "40", "NO_COLOR": "1", "TERM": "xterm"])
      #expect(try await child.ended(within: .seconds(60)) == .exited(69))
      let expected = """
        2025-11-21 02:42  bob@c  one two three
                                 four five
                                 six\\x1b
        ── d@e ──
        2025-11-21 02:42  bob@c  hi

        """
      let shown = child.output.text.replacingOccurrences(of: "\r\n", with: "\n")
      #expect(shown.hasPrefix(expected), "\(shown)")
      agent.end()
    }
  }

  @Test("The option --json prints events as JSON, and SIGINT ends the command with exit status 130.")
  func json() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, then: .waitForClose)
      let child = try await imctl.start(["watch", "--json"])
      try await child.output.contains(#""event":"presence""#)
      child.send(SIGINT)
      #expect(try await child.ended() == .exited(130))
      #expect(
        child.output.lines.last
          == #"{"account":"alice@example.org","cursor":3,"event":"presence","#
          + #""from":"bob@example.org/\u202egpj","priority":1,"show":"away","status":"a\nb","#
          + #""time":"2025-11-21T02:42:13.123Z"}"#)
      let events = try child.output.lines.map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
      #expect(events == Self.events)
      #expect(try agent.parameters(of: WatchMethod.self)?.events == nil)
      agent.end()
    }
  }

  @Test("The option --events accepts the name of every documented event.")
  func names() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, then: .close)
      #expect(try await imctl.run("watch", "--events", "contact,group,conversation,device").status == 69)
      let sent = try #require(try agent.parameters(of: WatchMethod.self))
      #expect(sent.events == ["contact", "group", "conversation", "device"])
      #expect(sent.account == nil, "of every account")
      #expect(try await imctl.run("watch", "-a", "").status == 64)
      agent.end()
    }
  }

  @Test("The option --timeout ends the command with exit status 0.")
  func timeout() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, then: .waitForClose)
      let result = try await imctl.run("watch", "--timeout", "2")
      #expect((result.lines.count, result.errors, result.status) == (3, "", 0))
      let told = try await imctl.run("watch", "--timeout", "2", "-v")
      #expect((told.lines.count, told.errors, told.status) == (3, "watching\n", 0))
      agent.end()
    }
  }

  @Test("The command ends without a message when its reader closes the pipe, even if no event follows.")
  func brokenPipe() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, then: .waitForClose)
      let shell = try await ChildProcess(
        "/bin/sh", ["-c", "{ \"$0\" watch; echo $? >&2; } | head -n 1", IMCTL.executable],
        environment: [
          "HOME": imctl.home, "XDG_CONFIG_HOME": imctl.home + "/.config",
          "XDG_STATE_HOME": imctl.home + "/.local/state",
        ])
      #expect(try await shell.ended(within: .seconds(90)) == .exited(0))
      #expect(shell.output.lines.count == 1)
      #expect(shell.errors.text == "141\n")
      agent.end()
    }
  }

  @Test("An unknown event name ends with exit status 64.", arguments: ["messages", "", "state,", "State"])
  func unknownEvent(names: String) async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run("watch", "--events", names)
      #expect((result.output, result.status) == ("", 64))
      #expect(result.errors.contains("state, synced, dataReady, success, presence, message"))
    }
  }
}
