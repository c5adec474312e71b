import AgentProtocol

extension MethodTable {
  /// Messages that are sent, those that wait to be sent, and those of the past.
  mutating func registerMessages(_ registry: SessionRegistry) {
    register(submission: MessageSendMethod.self) { parameters, _ in
      try await registry.storedSession(parameters.account).send(parameters).outcome
    }
    register(submission: MessageSendLinesMethod.self) { parameters, _ in
      let sending = try await registry.storedSession(parameters.account).send(parameters.messages)
      return { MessageSendLinesMethod.runs(of: await sending.outcome()) }
    }
    register(MessageAcceptedMethod.self, of: registry) { session, parameters in
      try await session.accepted(parameters.ids)
    }
    register(OutboxListMethod.self, of: registry) { session, _ in try await session.outbox() }
    register(OutboxCancelMethod.self, of: registry) { session, parameters in
      try await session.cancel(parameters)
    }
    register(ChatStateSendMethod.self, of: registry) { session, parameters in
      try await session.sendChatState(parameters)
      return Nothing()
    }
    register(HistorySyncMethod.self, of: registry) { session, parameters in
      try await session.syncHistory(parameters)
    }
    register(RecipientsResolveMethod.self, of: registry) { session, parameters in
      try await session.resolve(parameters)
    }
  }
}
