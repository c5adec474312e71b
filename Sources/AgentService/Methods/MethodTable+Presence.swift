import AgentProtocol
import AgentSession

extension MethodTable {
  mutating func registerPresence(_ registry: SessionRegistry) {
    register(PresenceGetMethod.self, of: registry) { session, _ in session.presence.status }
    register(PresenceSetMethod.self) { parameters, context in
      try await registry.setPresence(parameters, client: context.client)
    }
  }
}
