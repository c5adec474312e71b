import AgentProtocol
import AgentSession

extension MethodTable {
  /// Registers the methods for contacts, subscription requests and blocked JIDs.
  mutating func registerContacts(_ registry: SessionRegistry) {
    register(ContactsListMethod.self, of: registry) { session, parameters in
      try await session.contacts.list(after: parameters.after)
    }
    register(ContactRequestsMethod.self, of: registry) { session, _ in
      try await session.contacts.listRequests()
    }
    register(ContactsBlockedMethod.self, of: registry) { session, _ in
      try await session.contacts.listBlocked()
    }
    register(ContactsChangeMethod.self, of: registry) { session, parameters in
      try await session.contacts.change(parameters)
    }
  }
}
