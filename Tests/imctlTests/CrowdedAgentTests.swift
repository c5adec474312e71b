import AgentProtocol
import Synchronization
import TestSupport
import Testing

@Suite("Agents with as many clients as they accept")
struct CrowdedAgentTests {
  @Test(
    "A command repeats its request to a crowded agent until there is room or its time is over."
  )
  func crowded() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let refusals = Refusals(3)
      let agent = try FakeAgent(imctl) { call in
        if refusals.next() { return [.raw(RPC.answer(.null, RPCError(Failure.tooManyClients(7)))), .close] }
        guard call.method == MessageSendMethod.name,
          let messages = try? call.parameters(of: MessageSendMethod.self).messages
        else { return call.method == StatusMethod.name ? [.result([SessionStatus.alice])] : [] }
        return [.result(messages.map { MessageSendMethod.Outcome(id: $0.id ?? "", to: $0.to, state: .sent) })]
      }
      for arguments in [["send", "b@c", "hi"], ["status"]] {
        refusals.reset()
        let result = try await imctl.run(arguments)
        #expect(result.status == 0, "\(result.errors)")
      }
      agent.end()
    }
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { _ in
        [.raw(RPC.answer(.null, RPCError(Failure.tooManyClients(7)))), .close]
      }
      let result = try await imctl.run("send", "b@c", "hi", "--timeout", "0.5")
      #expect(result.status == 69 && result.errors.contains("it has 7 clients"), "\(result.errors)")
      agent.end()
    }
  }
}

/// So many times yes, then no.
private final class Refusals: Sendable {
  private let maximum: Int
  private let left: Mutex<Int>

  init(_ maximum: Int) {
    self.maximum = maximum
    left = Mutex(maximum)
  }

  func next() -> Bool {
    left.withLock { left in
      left -= 1
      return left >= 0
    }
  }

  func reset() { left.withLock { $0 = maximum } }
}
