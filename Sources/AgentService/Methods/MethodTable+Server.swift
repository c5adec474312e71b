import AgentProtocol
import AgentSession

extension MethodTable {
  /// Registers the queries to the account's server, and profiles.
  mutating func registerServer(_ registry: SessionRegistry) {
    register(ServerTimeMethod.self, of: registry) { session, question in
      try await session.serverQueries.time(question)
    }
    register(ServerPingMethod.self, of: registry) { session, question in
      try await session.serverQueries.ping(question)
    }
    register(ServerVersionMethod.self, of: registry) { session, question in
      try await session.serverQueries.version(question)
    }
    register(ServerInfoMethod.self, of: registry) { session, question in
      try await session.serverQueries.info(question)
    }
    register(ProfileGetMethod.self, of: registry) { session, parameters in
      try await session.serverQueries.profile(parameters)
    }
    register(ProfileSetMethod.self, of: registry) { session, parameters in
      try await session.serverQueries.changeProfile(parameters)
    }
  }
}
