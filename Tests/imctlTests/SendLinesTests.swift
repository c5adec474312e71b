import AgentProtocol
import Synchronization
import TestSupport
import Testing

@Suite("imctl send --lines")
struct SendLinesTests {
  @Test(
    "Each line of the input is sent as a message, except for empty lines.")
  func lines() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      let all = (1...1000).map { "line \($0)" }
      let result = try await imctl.run(
        "send", "b@c", "--lines", "--json", input: "\n" + all.joined(separator: "\r\n"))
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.lines.count == 1000)
      let ids = try result.objects(MessageSendMethod.Outcome.self).map(\.id)
      #expect(Set(ids).count == 1000)
      #expect(agent.methods.count < 100)
      let asked = try #require(try agent.parameters(of: MessageSendLinesMethod.self))
      #expect(asked.text.split(separator: "\n").last == "line 1000")
      // As many receipts are wanted only by who waits for them.
      #expect(!asked.asksReceipts)
      agent.end()
    }
  }

  @Test("Each line of the input is sent to every recipient.")
  func linesToSeveral() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      let result = try await imctl.run(
        "send", "b@c", "--to", "d@c", "--lines", "--json", input: "one\ntwo\n")
      #expect(result.status == 0, "\(result.errors)")
      #expect(
        try result.objects(MessageSendMethod.Outcome.self).map(\.to).sorted() == ["b@c", "b@c", "d@c", "d@c"])
      agent.end()
    }
  }

  @Test(
    "The first lines are sent in small calls, and the calls grow up to the maximum of the agent."
  )
  func growingCalls() async throws {
    try await withIMCTL { imctl in
      let calls = Mutex([[Substring]]())
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendLinesMethod.name,
          let lines = try? call.parameters(of: MessageSendLinesMethod.self).text.split(separator: "\n")
        else { return [] }
        calls.withLock { $0.append(lines) }
        return [.result([MessageSendLinesMethod.OutcomeRun(count: lines.count, state: .sent)])]
      }
      let all = (1...2000).map { "line \($0)" }
      let result = try await imctl.run("send", "b@c", "--lines", input: all.joined(separator: "\n"))
      #expect(result.status == 0)
      let seen = calls.withLock { $0 }
      #expect(seen.first?.count == 16)
      #expect(seen.map(\.count).max() == MessageSendLinesMethod.maximumLines)
      #expect(seen.joined().map(String.init) == all)
      agent.end()
    }
  }

  @Test("A line is sent as soon as it arrives, without waiting for the end of the input.")
  func follow() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent.delivering(imctl)
      let send = try await imctl.start(["send", "b@c", "--lines", "--json"])
      for number in 1...3 {
        send.write("\(number)\n")
        try await send.output.first("an answer") { $0.lines.count == number ? () : nil }
      }
      send.closeInput()
      #expect(try await send.ended() == .exited(0))
      agent.end()
    }
  }

  @Test("Lines that one agent has not answered are sent to the next agent under the same ids.")
  func agentEndsAmidLines() async throws {
    try await withIMCTL { imctl in
      let calls = Mutex([MessageSendLinesMethod.Parameters]())
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendLinesMethod.name,
          let lines = try? call.parameters(of: MessageSendLinesMethod.self)
        else { return [] }
        let isFirst = calls.withLock { calls in
          calls.append(lines)
          return calls.count == 1
        }
        if isFirst { return [.close] }
        return [.result([MessageSendLinesMethod.OutcomeRun(count: 2, state: .sent)])]
      }
      let result = try await imctl.run("send", "b@c", "--lines", "--json", input: "one\ntwo\n")
      #expect(result.status == 0)
      let seen = calls.withLock { $0 }
      #expect(seen.count == 2 && seen[0] == seen[1] && seen[0].text == "one\ntwo")
      let ids = try result.objects(MessageSendMethod.Outcome.self).map(\.id)
      #expect(ids == [seen[0].id + ".0", seen[0].id + ".1"])
      agent.end()
    }
  }
}
