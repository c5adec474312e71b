import AgentProtocol
import AgentSession
import AgentStore

extension MethodTable {
  /// All methods of an agent with these sessions.
  init(_ registry: SessionRegistry) {
    self.init()
    registerAgent(registry)
    registerAccounts(registry)
    registerPresence(registry)
    registerMessages(registry)
    registerContacts(registry)
    registerConversations(registry)
    registerDevices(registry)
    registerServer(registry)
  }

  /// Registers a method that is carried out by the session of the account in its parameters.
  mutating func register<Method: AgentMethod>(
    _: Method.Type, of registry: SessionRegistry,
    _ perform: @escaping @Sendable (isolated Session, Method.Parameters) async throws -> Method.Result
  ) where Method.Parameters: AccountParameters {
    register(Method.self) { parameters, _ in
      try await perform(await registry.storedSession(parameters.account), parameters)
    }
  }

  private mutating func registerAgent(_ registry: SessionRegistry) {
    register(AgentStatusMethod.self) { _, context in await registry.agentStatus(clients: context.clients()) }
    registerStop { await registry.stop() }
    register(AgentIdleMethod.self) { parameters, _ in try await registry.idle(parameters) }
    register(AgentActiveMethod.self) { parameters, _ in try await registry.active(parameters) }
    registerWatch()
  }

  /// - Parameter stop: ends the sessions and then the agent.
  mutating func registerStop(_ stop: @escaping @Sendable () async -> Void) {
    register(AgentStopMethod.self, afterwards: stop) { _, _ in EmptyObject() }
  }

  mutating func registerWatch() {
    register(WatchMethod.self) { parameters, context in
      let filter = EventHub.Filter(
        events: parameters.events.map { Set($0) }, account: try parameters.account.map(BareJID.normalise))
      return WatchMethod.Result(cursor: context.subscribe(filter, parameters.since))
    }
  }
}
