import AgentProtocol
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("imctl send")
struct SendCommandTests {
  @Test("The text and the options of send reach the agent, and only --json prints anything.")
  func text() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      let result = try await imctl.run(
        "send", "b@c", "hi", "--subject", "s", "--thread", "t", "--type", "normal", "--id", "1", "-a", "a@b",
        "--wait", "server", "--timeout", "7")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      let sent = try #require(try agent.parameters(of: MessageSendMethod.self))
      var message = OutgoingMessage(to: "b@c", body: "hi")
      message.id = "1"
      message.subject = "s"
      message.thread = "t"
      message.type = "normal"
      #expect(sent.messages == [message])
      #expect(sent.account == "a@b" && sent.wait == .server && sent.timeout > 6 && sent.timeout <= 7)
      let json = try await imctl.run("send", "b@c", "hi", "--json", "--id", "2")
      #expect(json.output == #"{"id":"2","state":"sent","to":"b@c"}"# + "\n")
      agent.end()
    }
  }

  @Test(
    "The command send connects to the agent once, before it parses its arguments, and never with --direct."
  )
  func early() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      #expect(try await imctl.run("send", "b@c", "hi").status == 0)
      try await eventually("the end of the connection") { agent.closedConnections == 1 }
      #expect(agent.received.components(separatedBy: "agent.status").count == 2)
      #expect(try await imctl.run("send", "--nonsense").status == 64)
      try await eventually("the end of the connection") { agent.closedConnections == 2 }
      #expect(agent.received.components(separatedBy: "agent.status").count == 3)
      for words in [["--direct"], ["--help"], ["-h"]] {
        _ = try await imctl.run(["send", "b@c", "hi", "--timeout", "5"] + words)
      }
      #expect(agent.received.components(separatedBy: "agent.status").count == 3)
      agent.end()
    }
  }

  @Test("On a terminal, send says how to end the message, which may be typed for longer than the time limit.")
  func typed() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      let child = try await imctl.start(["send", "b@c", "-s", "about"], terminal: true)
      try await child.output.contains("Ctrl-D")
      child.write("hello\n\u{4}")
      #expect(try await child.ended(within: .seconds(60)) == .exited(0))
      let message = try #require(try agent.parameters(of: MessageSendMethod.self)?.messages.first)
      #expect(message.body == "hello" && message.subject == "about")
      let lines = try await imctl.start(["send", "b@c", "--lines"], terminal: true)
      try await lines.output.contains("each line is sent as a message")
      lines.write("one\n\u{4}")
      #expect(try await lines.ended(within: .seconds(60)) == .exited(0))
      let quiet = try await imctl.start(["send", "b@c", "-q"], terminal: true)
      quiet.write("hello\n\u{4}")
      #expect(try await quiet.ended(within: .seconds(60)) == .exited(0))
      #expect(!quiet.output.text.contains("Ctrl-D"))
      agent.end()
    }
  }

  @Test("Without TEXT, the message is read from standard input, without the final line feed.")
  func input() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      #expect(try await imctl.run("send", "b@c", input: "two\nlines\n").status == 0)
      #expect(try agent.parameters(of: MessageSendMethod.self)?.messages.first?.body == "two\nlines")
      #expect(try await imctl.run("send", "b@c", input: "").status == 64)
      #expect(
        try await imctl.run("send", "b@c", input: String(repeating: "x", count: 200_001)).status == 64)
      agent.end()
    }
  }

  @Test("A message that stays queued gives exit status 87, unless the command has --wait none.")
  func queued() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl, .queued)
      let result = try await imctl.run("send", "b@c", "hi", "--json")
      #expect(result.status == 87)
      #expect(try result.objects(MessageSendMethod.Outcome.self).map(\.state) == [.queued])
      #expect(result.errors.contains(#""name":"deliveryUnconfirmed""#))
      #expect(try await imctl.run("send", "b@c", "hi", "--wait", "none").status == 0)
      agent.end()
    }
  }

  @Test(
    "With --wait delivered, send ends with 0 after a receipt, with 87 without one, and with 74 after a refusal.",
    arguments: [
      (DeliveryState.delivered, nil, 0), (.sent, nil, 87), (.queued, nil, 87),
      (.sent, Failure.Name.stanzaError, 74),
    ]
      as [(DeliveryState, Failure.Name?, Int32)])
  func delivered(state: DeliveryState, name: Failure.Name?, status: Int32) async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendMethod.name,
          let messages = try? call.parameters(of: MessageSendMethod.self).messages
        else { return [] }
        let error = name.map { Failure($0, stage: .request, condition: "service-unavailable") }
        return [
          .result(
            messages.map { MessageSendMethod.Outcome(id: $0.id ?? "", to: $0.to, state: state, error: error) }
          )
        ]
      }
      let result = try await imctl.run("send", "b@c", "hi", "--wait", "delivered", "--json")
      #expect(result.status == status)
      #expect(try result.objects(MessageSendMethod.Outcome.self).map(\.state) == [state])
      #expect(try agent.parameters(of: MessageSendMethod.self)?.wait == .delivered)
      if let name { #expect(result.errors.contains(#""name":"\#(name.rawValue)""#)) }
      agent.end()
    }
  }

  @Test(
    "A message to several recipients is sent once to each, and the exit status is that of the worst outcome."
  )
  func recipients() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendMethod.name,
          let messages = try? call.parameters(of: MessageSendMethod.self).messages
        else { return [] }
        return [
          .result(
            messages.map { message in
              let isRefused = message.to == "nobody@c"
              let error = Failure(.stanzaError, stage: .request, condition: "service-unavailable")
              return MessageSendMethod.Outcome(
                id: message.id ?? "", to: message.to, state: message.to == "late@c" ? .queued : .sent,
                error: isRefused ? error : nil)
            })
        ]
      }
      let good = try await imctl.run(
        "send", "--to", "c@c", "b@c", "hi", "--to", "d@c/desk", "--to", "B@c", "--json")
      #expect(good.status == 0, "\(good.errors)")
      let outcomes = try good.objects(MessageSendMethod.Outcome.self)
      #expect(outcomes.map(\.to) == ["b@c", "c@c", "d@c/desk"] && Set(outcomes.map(\.id)).count == 3)
      let file = imctl.home + "/recipients"
      try Data("nobody@c\r\n\n  late@c \n".utf8).write(to: URL(filePath: file))
      let bad = try await imctl.run("send", "--to-file", file, "b@c", input: "hi\n")
      #expect(bad.status == 74)
      #expect(bad.errors.contains("nobody@c: ") && bad.errors.contains("service-unavailable"))
      #expect(bad.errors.contains("late@c: ") && !bad.errors.contains("b@c: "))
      #expect(try agent.parameters(of: MessageSendMethod.self)?.messages.map(\.body) == ["hi", "hi", "hi"])
      let late = try await imctl.run("send", "b@c", "hi", "--to", "late@c", "--json")
      #expect(late.status == 87 && late.errors.contains(#""name":"deliveryUnconfirmed""#))
      let read = try await imctl.run("send", "--to-file", "-", "b@c", "hi", "--json", input: "c@c\n")
      #expect(try read.objects(MessageSendMethod.Outcome.self).map(\.to) == ["b@c", "c@c"])
      let methods = agent.methods.count
      #expect(try await imctl.run("send", "b@c", "hi", "--to", "@").status == 64)
      #expect(try await imctl.run("send", "b@c", "d@c", input: "hi").status == 64)
      #expect(try await imctl.run("send", "b@c", "-hello").status == 64)
      #expect(agent.methods.count == methods)
      agent.end()
    }
  }

  @Test("A correction names a message or has --last, and conflicting arguments are refused.")
  func edit() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      #expect(try await imctl.run("edit", "b@c", "one", "- new\n- text").status == 0)
      var sent = try #require(try agent.parameters(of: MessageSendMethod.self)?.messages.first)
      #expect(sent.corrects == .message("one") && sent.body == "- new\n- text" && sent.to == "b@c")
      let last = try await imctl.run("edit", "b@c", "--last", "--json", input: "new\n")
      #expect(try last.objects(MessageSendMethod.Outcome.self).map(\.state) == [.sent])
      sent = try #require(try agent.parameters(of: MessageSendMethod.self)?.messages.first)
      #expect(sent.corrects == .last && sent.body == "new")
      for arguments in [["b@c"], ["b@c", "1", "a", "b"], ["b@c", "--last", "a", "b"], ["b@c", "1", ""]] {
        #expect(try await imctl.run(["edit"] + arguments).status == 64)
      }
      agent.end()
    }
  }

  @Test("A chat state is sent without a message to every recipient.")
  func chatState() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) {
        $0.method == ChatStateSendMethod.name ? [.result(EmptyObject())] : []
      }
      let result = try await imctl.run("send", "b@c", "--state", "composing", "--to", "d@c")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      #expect(agent.methods == [ChatStateSendMethod.name, ChatStateSendMethod.name])
      let last = try #require(try agent.parameters(of: ChatStateSendMethod.self))
      #expect(last.to == "d@c" && last.state == "composing")
      for more in [["x"], ["--lines"], ["--direct"], ["--id", "1"]] {
        #expect(try await imctl.run(["send", "b@c", "--state", "paused"] + more).status == 64)
      }
      #expect(try await imctl.run("send", "b@c", "--state", "asleep").status == 64)
      agent.end()
    }
  }

  @Test("A command that SIGINT cancels reports whether anything was or may have been changed.")
  func cancelled() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == AgentStatusMethod.name ? [] : [.waitForClose]
      }
      func cancel(_ arguments: [String], at method: String?) async throws -> String {
        let count = agent.methods.count { $0 == method }
        let command = try await imctl.start(arguments)
        if let method {
          try await eventually("the request") { agent.methods.count { $0 == method } > count }
        } else {
          command.write("a line\n")
          try await eventually("the start") { agent.received.contains("agent.status") }
        }
        command.send(SIGINT)
        #expect(try await command.ended(within: .seconds(60)) == .exited(130))
        return command.errors.text
      }
      let sent = try await cancel(["send", "b@c", "hi", "--id", "one"], at: MessageSendMethod.name)
      #expect(sent.contains("the agent has the message") && sent.contains("imctl outbox cancel one"))
      let listed = try await cancel(["devices", "list"], at: DevicesListMethod.name)
      #expect(listed.contains("nothing was changed"))
      let changed = try await cancel(["contacts", "add", "b@c"], at: ContactsChangeMethod.name)
      #expect(changed.contains("may have carried it out") && !changed.contains("nothing was changed"))
      agent.end()
    }
  }

  @Test(
    "A send command without a receipt tells whether the message is still queued or has reached the server.")
  func inVain() async throws {
    for (state, text) in [(DeliveryState.queued, "still queued"), (.sent, "the server has the message")] {
      try await withIMCTL { imctl in
        let agent = try FakeAgent.delivering(imctl, state)
        let result = try await imctl.run("send", "b@c", "hi", "--wait", "delivered")
        #expect(result.status == 87 && result.errors.contains(text), "\(result.errors)")
        #expect(result.errors.contains("still queued, and sent") == (state == .queued))
        agent.end()
      }
    }
  }

  @Test("A message that one agent has not answered is sent to the next agent under the same id.")
  func agentEnds() async throws {
    try await withIMCTL { imctl in
      let ids = Mutex([[String?]]())
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendMethod.name,
          let messages = try? call.parameters(of: MessageSendMethod.self).messages
        else { return [] }
        let isFirst = ids.withLock { ids in
          ids.append(messages.map(\.id))
          return ids.count == 1
        }
        if isFirst { return [.close] }
        return [.result(messages.map { MessageSendMethod.Outcome(id: $0.id ?? "", to: $0.to, state: .sent) })]
      }
      #expect(try await imctl.run("send", "b@c", "hi").status == 0)
      let seen = ids.withLock { $0 }
      #expect(seen.count == 2 && seen[0] == seen[1])
      agent.end()
    }
  }

  @Test(
    "Conflicting arguments of send and outbox end with exit status 64.",
    arguments: [
      ["send", ""], ["send", "b@c", ""], ["send", "b@c", "x", "--lines"],
      ["send", "b@c", "--lines", "--id", "1"],
      ["send", "b@c", "x", "--wait", "delivered", "--type", "headline"], ["send", "b@c", "x", "--id", ""],
      ["send", "b@c", "x", "--wait", "delivered", "--type", "groupchat"],
      ["send", "b@c", "x", "--direct", "--wait", "none"], ["send", "b@c", "x", "--host", "c"],
      ["send", "b@c", "x", "--password-stdin"], ["send", "b@c", "x", "--wait", "displayed"],
      ["send", "b@c", "x", "--to", ""], ["send", "b@c", "x", "--to", "d@c", "--id", "1"],
      ["send", "b@c", "--to-file", "-"], ["send", "--to-file", "/nowhere/file", "b@c", "x"],
      ["send", "b@c", "x", "--type", "error"], ["outbox", "cancel"], ["outbox", "cancel", "1", "--all"],
    ])
  func usage(arguments: [String]) async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run(arguments)
      #expect(result.status == 64)
    }
  }

  @Test(
    "The outbox is listed with control characters escaped, and a message already sent cannot be cancelled."
  )
  func outbox() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        switch call.method {
        case OutboxListMethod.name:
          [
            .result([
              OutboxListMethod.Entry(
                id: "1", to: "b@c", body: "\u{1b}]0;x\u{7}", accepted: "2025-11-21T02:42:13.123Z",
                handedOver: true)
            ])
          ]
        case OutboxCancelMethod.name:
          [.result(OutboxCancelMethod.Result(cancelled: ["1"], handedOver: ["2"]))]
        default: []
        }
      }
      let list = try await imctl.run("outbox", "list")
      #expect(list.output == "1\t2025-11-21 02:42\tunconfirmed\tb@c\t\\x1b]0;x\\x07\n")
      let cancel = try await imctl.run("outbox", "cancel", "1", "2")
      #expect((cancel.output, cancel.status) == ("1 cancelled\n", 1))
      agent.end()
    }
  }
}
