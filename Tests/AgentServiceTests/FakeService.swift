import AgentProtocol
import NIOConcurrencyHelpers

@testable import AgentService
@testable import AgentStore

/// Methods without sessions: they note what is asked and answer at once, but for `login`.
final class FakeService: Sendable {
  struct Notes {
    var calls: [String] = []
    var closed: [ClientHandle] = []
    var sendings: [DeliveryWait] = []
    var waiting = 0
    var cancelled = 0
  }

  private let notes = NIOLockedValueBox(Notes())
  private let onStop: @Sendable () -> Void

  init(onStop: @escaping @Sendable () -> Void = {}) { self.onStop = onStop }

  var seen: Notes { notes.withLockedValue { $0 } }
  private func note(_ call: String) { notes.withLockedValue { $0.calls.append(call) } }

  /// The methods that tests call.
  var methods: MethodTable {
    var table = MethodTable()
    table.registerWatch()
    table.registerStop {
      self.note("stop")
      self.onStop()
    }
    table.register(AgentStatusMethod.self) { _, context in
      .init(version: "1", pid: 1, started: "t", accounts: 0, online: 0, clients: context.clients())
    }
    table.register(AgentIdleMethod.self) { parameters, _ in
      self.note("idle \(parameters.account ?? "all")")
      return [IdleStatus(account: parameters.account ?? "a@b", idle: parameters.mode, applied: true)]
    }
    registerAccounts(&table)
    registerPresence(&table)
    registerMessages(&table)
    return table
  }

  func leave(_ client: ClientHandle) { notes.withLockedValue { $0.closed.append(client) } }

  private func registerAccounts(_ table: inout MethodTable) {
    table.register(LoginMethod.self) { parameters, _ in try await self.login(parameters) }
    table.register(LogoutMethod.self) { parameters, _ in
      self.note("logout \(parameters.account ?? "default")")
      return LogoutMethod.Result(accounts: [parameters.account ?? "default"])
    }
    table.register(StatusMethod.self) { parameters, _ in
      self.note("status")
      return [SessionStatus(account: parameters.account ?? "a@example.org", state: .syncOK)]
    }
    table.register(AccountRemoveMethod.self) { parameters, _ in
      self.note("remove \(parameters.account)")
      return EmptyObject()
    }
    table.register(AccountPasswdMethod.self) { parameters, _ in
      self.note("passwd")
      return .init(account: parameters.account ?? "default", usesCommand: false)
    }
    table.register(AccountDeleteMethod.self) { parameters, _ in
      self.note("delete")
      return .init(account: parameters.account ?? "default")
    }
  }

  /// Waits until the client goes away; `refused@…` fails at once.
  private func login(_ parameters: LoginMethod.Parameters) async throws -> LoginMethod.Result {
    note("login \(parameters.account)")
    if parameters.account.hasPrefix("refused") {
      throw Failure(.authFailed, stage: .authenticate, condition: "not-authorized", text: "no")
    }
    notes.withLockedValue { $0.waiting += 1 }
    try? await Task.sleep(for: .seconds(3600))
    notes.withLockedValue { $0.cancelled += 1 }
    throw Failure(.cancelled, stage: .authenticate)
  }

  private func registerPresence(_ table: inout MethodTable) {
    table.register(PresenceGetMethod.self) { _, _ in
      PresenceStatus(show: .online, status: nil, priority: 0, applied: true)
    }
    table.register(PresenceSetMethod.self) { parameters, context in
      self.note("presence \(parameters.show) \(parameters.hold) \(context.client.id)")
      return PresenceStatus(
        show: parameters.show, status: parameters.status, priority: parameters.priority ?? 0, applied: true)
    }
  }

  /// They wait for the server until ``DeliveryWait/done(_:)``, but for those that do not want to.
  private func registerMessages(_ table: inout MethodTable) {
    table.register(submission: MessageSendMethod.self) { parameters, _ in self.send(parameters) }
    table.register(submission: MessageSendLinesMethod.self) { parameters, _ in
      let outcomes = self.send(parameters.messages)
      return { MessageSendLinesMethod.runs(of: await outcomes()) }
    }
    table.register(submission: DevicesSendMethod.self) { parameters, _ in
      { .init(id: "1", to: parameters.resource, state: .sent) }
    }
    table.register(OutboxListMethod.self) { _, _ in
      [.init(id: "1", to: "b@c", body: nil, accepted: "t", handedOver: false)]
    }
  }

  private func send(
    _ parameters: MessageSendMethod.Parameters
  ) -> @Sendable () async -> MessageSendMethod.Result {
    note("send \(parameters.messages.map { $0.body ?? "" }.joined(separator: ","))")
    let wait = DeliveryWait(parameters.wait == .none ? [] : ["all"])
    notes.withLockedValue { $0.sendings.append(wait) }
    return {
      await wait.wait(seconds: 0)
      return parameters.messages.map {
        .init(id: $0.id ?? "made", to: $0.to, state: parameters.wait == .none ? .queued : .sent)
      }
    }
  }
}

/// Runs the server with the methods of a ``FakeService`` until it is stopped.
func run(_ server: AgentServer) async throws {
  let service = FakeService { server.stop() }
  try await server.run(service.methods, whenGone: service.leave)
}
