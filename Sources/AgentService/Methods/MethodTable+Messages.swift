import AgentProtocol
import AgentSession

extension MethodTable {
  /// Registers the methods for sending, the outbox and the history.
  mutating func registerMessages(_ registry: SessionRegistry) {
    register(submission: MessageSendMethod.self) { parameters, _ in
      try await registry.storedSession(parameters.account).send(parameters).outcome
    }
    register(submission: MessageSendLinesMethod.self) { parameters, _ in
      let sending = try await registry.storedSession(parameters.account).send(parameters.messages)
      return { MessageSendLinesMethod.runs(of: await sending.outcome()) }
    }
    register(MessageAcceptedMethod.self, of: registry) { session, parameters in
      try await session.messages.outbox.accepted(parameters.ids)
    }
    register(OutboxListMethod.self, of: registry) { session, _ in try await session.messages.outbox.list() }
    register(OutboxCancelMethod.self, of: registry) { session, parameters in
      try await session.messages.outbox.cancel(parameters)
    }
    register(ChatStateSendMethod.self, of: registry) { session, parameters in
      try await session.sendChatState(parameters)
      return EmptyObject()
    }
    register(HistorySyncMethod.self, of: registry) { session, parameters in
      try await session.messages.archive.sync(parameters)
    }
    register(RecipientsResolveMethod.self, of: registry) { session, parameters in
      try await session.resolve(parameters)
    }
  }
}
