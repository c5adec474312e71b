import AgentProtocol
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("imctl send --lines when agents end or the command gives up")
struct StoppedLinesTests {
  @Test(
    "A command that gives up reports which lines were accepted, including lines stored without an answer."
  )
  func accepted() async throws {
    try await withIMCTL { imctl in
      // The first call is answered. Of the others the agent knows one more.
      let calls = Mutex([MessageSendLinesMethod.Parameters]())
      let agent = try FakeAgent(imctl) { call in
        if call.method == MessageAcceptedMethod.name {
          let ids = (try? call.parameters(of: MessageAcceptedMethod.self).ids) ?? []
          // The command may not have read the answer to the first call yet.
          let known = calls.withLock { $0.prefix(2).map { "\($0.id)." } }
          return [.result(ids.filter { id in known.contains { id.hasPrefix($0) } })]
        }
        guard call.method == MessageSendLinesMethod.name,
          let lines = try? call.parameters(of: MessageSendLinesMethod.self)
        else { return [] }
        let number = calls.withLock { calls in
          calls.append(lines)
          return calls.count
        }
        let count = lines.text.split(separator: "\n").count
        return number == 1
          ? [.result([MessageSendLinesMethod.OutcomeRun(count: count, state: .sent)])] : [.raw("")]
      }
      for isJSON in [true, false] {
        calls.withLock { $0 = [] }
        let send = try await imctl.start(["send", "b@c", "--lines"] + (isJSON ? ["--json"] : []))
        send.write((1...100).map { "line \($0)\n" }.joined())
        try await eventually("three calls") { calls.withLock { $0.count } >= 3 }
        send.send(SIGINT)
        #expect(try await send.ended(within: .seconds(60)) == .exited(130))
        let seen = calls.withLock { $0 }
        let count = seen.prefix(2).reduce(0) { $0 + $1.text.split(separator: "\n").count }
        let last = "\(seen[1].id).\(seen[1].text.split(separator: "\n").count - 1)"
        if isJSON {
          #expect(
            send.errors.text.hasPrefix(
              #"{"accepted":[{"lastID":"\#(last)","lines":\#(count),"to":"b@c"}],"error":{"#),
            "\(send.errors.text)")
          #expect(send.errors.text.hasSuffix(#","exact":true}"# + "\n"))
        } else {
          #expect(
            send.errors.text.hasSuffix(
              "\n  accepted lines to b@c: \(count); the last one has the ID \(last)\n"),
            "\(send.errors.text)")
        }
      }
      agent.end()
    }
  }

  @Test("A message that an ended agent took is not reported as refused if no other agent can be started.")
  func noSuccessor() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let directory = imctl.home + "/.local/state/imctl"
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendMethod.name else { return [] }
        // A directory stands where the log of the next agent belongs.
        mkdir(directory + "/agent.log", 0o700)
        unlink(directory + "/agent.sock")
        return [.close]
      }
      let result = try await imctl.run("send", "b@c", "text", "--id", "m1", "--json")
      agent.end()
      #expect(result.status == 69, "\(result.errors)")
      #expect(result.errors.contains("agent.log"), "\(result.errors)")
      #expect(result.errors.contains("m1"), "\(result.errors)")
      // Without a message that was taken, the reason is told as it is.
      let second = try await imctl.run("send", "b@c", "text", "--id", "m2", "--json")
      #expect(second.status == 73, "\(second.errors)")
    }
  }

  @Test(
    "Lines are sent to one new agent after another until an agent answers, even if many agents end first.")
  func manyAgents() async throws {
    try await withIMCTL { imctl in
      let calls = Mutex(0)
      let agent = try FakeAgent(imctl) { call in
        guard call.method == MessageSendLinesMethod.name,
          let lines = try? call.parameters(of: MessageSendLinesMethod.self)
        else { return [] }
        let number = calls.withLock { calls in
          calls += 1
          return calls
        }
        if number < 8 { return [.close] }
        let count = lines.text.split(separator: "\n").count
        return [.result([MessageSendLinesMethod.OutcomeRun(count: count, state: .sent)])]
      }
      let result = try await imctl.run("send", "b@c", "--lines", "--json", input: "one\ntwo\n")
      #expect(result.status == 0 && result.lines.count == 2, "\(result.errors)")
      agent.end()
    }
  }

  @Test("Lines that no agent accepts are given up in time, and the error says that none was accepted.")
  func noneAccepted() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { $0.method == MessageSendLinesMethod.name ? [.close] : [] }
      let result = try await imctl.run(
        "send", "b@c", "--lines", "--json", "--timeout", "1", input: "one\ntwo\n")
      // The time may be up while an agent ends, or while the next one has not said a word.
      #expect([69, 75].contains(result.status), "\(result.errors)")
      #expect(result.errors.hasPrefix(#"{"accepted":[],"error":{"#), "\(result.errors)")
      agent.end()
    }
  }
}
