import AgentProtocol

/// One connection to the agent's socket.
package struct ClientHandle: Sendable, Hashable {
  /// Unique while the agent runs.
  package let id: UInt64
  package init(id: UInt64) { self.id = id }
}

/// Messages that were accepted and are on their way.
package struct Sending: Sendable {
  /// Waits as long as the client wanted, or until its task is cancelled.
  package let outcome: @Sendable () async -> MessageSendMethod.Result
  package init(outcome: @escaping @Sendable () async -> MessageSendMethod.Result) { self.outcome = outcome }
}

/// What the agent does for its clients. ``AgentServer`` has decoded and checked the parameters.
///
/// Requests of one client come one after the other, those of different clients at the same time. When the client
/// goes away the task of its running request is cancelled.
package protocol AgentService: Sendable {
  func login(_ parameters: LoginMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> LoginMethod.Result
  func logout(_ parameters: LogoutMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> LogoutMethod.Result
  func status(_ parameters: StatusMethod.Parameters) async throws(Failure) -> [SessionStatus]
  func idle(_ parameters: AgentIdleMethod.Parameters) async throws(Failure) -> [IdleStatus]
  func active(_ parameters: AgentActiveMethod.Parameters) async throws(Failure) -> [IdleStatus]
  func presence(_ parameters: PresenceGetMethod.Parameters) async throws(Failure) -> PresenceStatus
  /// With `hold` the presence lives until ``clientClosed(_:)``.
  func setPresence(_ parameters: PresenceSetMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> PresenceStatus
  func removeAccount(_ parameters: AccountRemoveMethod.Parameters) async throws(Failure)
  func changePassword(_ parameters: AccountPasswdMethod.Parameters) async throws(Failure)
    -> AccountPasswdMethod.Result
  func deleteAccount(_ parameters: AccountDeleteMethod.Parameters) async throws(Failure)
    -> AccountDeleteMethod.Result
  func revokeToken(_ parameters: TokenRevokeMethod.Parameters) async throws(Failure)
    -> TokenRevokeMethod.Result
  /// Returns when the messages are stored; what becomes of them is waited for with the result.
  func send(_ parameters: MessageSendMethod.Parameters, client: ClientHandle) async throws(Failure) -> Sending
  func accepted(_ parameters: MessageAcceptedMethod.Parameters) async throws(Failure)
    -> MessageAcceptedMethod.Result
  func outbox(_ parameters: OutboxListMethod.Parameters) async throws(Failure) -> OutboxListMethod.Result
  func cancelMessages(_ parameters: OutboxCancelMethod.Parameters) async throws(Failure)
    -> OutboxCancelMethod.Result
  func serverTime(_ question: ServerQuestion) async throws(Failure) -> ServerTime
  func serverPing(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result
  func serverVersion(_ question: ServerQuestion) async throws(Failure) -> ServerVersionMethod.Result
  func serverInfo(_ question: ServerQuestion) async throws(Failure) -> ServerInfoMethod.Result
  func profile(_ parameters: ProfileGetMethod.Parameters) async throws(Failure) -> Profile
  func sendChatState(_ parameters: ChatStateSendMethod.Parameters) async throws(Failure)
  func changeProfile(_ parameters: ProfileSetMethod.Parameters) async throws(Failure) -> Profile
  func syncHistory(_ parameters: HistorySyncMethod.Parameters) async throws(Failure)
    -> HistorySyncMethod.Result
  func resolve(_ parameters: RecipientsResolveMethod.Parameters) async throws(Failure)
    -> RecipientsResolveMethod.Result
  func contacts(_ parameters: ContactsListMethod.Parameters) async throws(Failure)
    -> ContactsListMethod.Result
  func contactRequests(_ parameters: ContactRequestsMethod.Parameters) async throws(Failure)
    -> ContactRequestsMethod.Result
  func blocked(_ parameters: ContactsBlockedMethod.Parameters) async throws(Failure)
    -> ContactsBlockedMethod.Result
  func changeConversation(_ parameters: ConversationsChangeMethod.Parameters) async throws(Failure)
    -> ConversationsChangeMethod.Result
  func changeContact(_ parameters: ContactsChangeMethod.Parameters) async throws(Failure)
    -> ContactsChangeMethod.Result
  func listDevices(_ parameters: DevicesListMethod.Parameters) async throws(Failure)
    -> DevicesListMethod.Result
  func ownDevice(_ parameters: DevicesSelfMethod.Parameters) async throws(Failure) -> Device
  func devicePolicy(_ parameters: DevicesPolicyMethod.Parameters) async throws(Failure)
    -> DevicesPolicyMethod.Result
  /// Returns when the message is stored, as ``send(_:client:)``.
  func sendToDevice(_ parameters: DevicesSendMethod.Parameters) async throws(Failure) -> Sending
  func push(_ parameters: PushMethod.Parameters) async throws(Failure) -> PushMethod.Result
  func kickDevices(_ parameters: DevicesKickMethod.Parameters) async throws(Failure)
    -> DevicesKickMethod.Result
  /// - Parameter clients: connected clients, the asking one included.
  func agentStatus(clients: Int) async throws(Failure) -> AgentStatusMethod.Result
  /// The normalised bare JID, as events carry it; ``Failure/Name/invalidParameter`` where `account` is no JID.
  func bareJID(_ account: String) throws(Failure) -> String
  /// Called after `agent.stop` was answered; ends the sessions and then calls ``AgentServer/stop()``.
  func stop() async
  /// The connection has ended; called once for each client, after its running request has ended.
  func clientClosed(_ client: ClientHandle) async
}
