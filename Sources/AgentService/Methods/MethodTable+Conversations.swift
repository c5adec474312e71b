import AgentProtocol
import AgentSession

extension MethodTable {
  mutating func registerConversations(_ registry: SessionRegistry) {
    register(ConversationsChangeMethod.self, of: registry) { session, parameters in
      try await session.conversations.change(parameters)
    }
  }
}
