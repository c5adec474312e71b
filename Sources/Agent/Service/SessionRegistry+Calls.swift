import AgentProtocol

// Calls that are for the session of one account, and for nobody else.

extension SessionRegistry {
  func send(_ parameters: MessageSendMethod.Parameters, client: ClientHandle) async throws(Failure) -> Sending
  {
    try await storedSession(parameters.account).send(parameters)
  }

  func accepted(_ parameters: MessageAcceptedMethod.Parameters) async throws(Failure)
    -> MessageAcceptedMethod.Result
  {
    try await storedSession(parameters.account).accepted(parameters.ids)
  }

  func outbox(_ parameters: OutboxListMethod.Parameters) async throws(Failure) -> OutboxListMethod.Result {
    try await storedSession(parameters.account).outbox()
  }

  func cancelMessages(_ parameters: OutboxCancelMethod.Parameters) async throws(Failure)
    -> OutboxCancelMethod.Result
  {
    try await storedSession(parameters.account).cancel(parameters)
  }

  func serverTime(_ question: ServerQuestion) async throws(Failure) -> ServerTime {
    try await storedSession(question.account).serverTime(question)
  }

  func serverPing(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result {
    try await storedSession(question.account).serverPing(question)
  }

  func serverVersion(_ question: ServerQuestion) async throws(Failure) -> ServerVersionMethod.Result {
    try await storedSession(question.account).serverVersion(question)
  }

  func serverInfo(_ question: ServerQuestion) async throws(Failure) -> ServerInfoMethod.Result {
    try await storedSession(question.account).serverInfo(question)
  }

  func profile(_ parameters: ProfileGetMethod.Parameters) async throws(Failure) -> Profile {
    try await storedSession(parameters.account).profile(parameters)
  }

  func sendChatState(_ parameters: ChatStateSendMethod.Parameters) async throws(Failure) {
    try await storedSession(parameters.account).sendChatState(parameters)
  }

  func changeProfile(_ parameters: ProfileSetMethod.Parameters) async throws(Failure) -> Profile {
    try await storedSession(parameters.account).changeProfile(parameters)
  }

  func syncHistory(_ parameters: HistorySyncMethod.Parameters) async throws(Failure)
    -> HistorySyncMethod.Result
  {
    try await storedSession(parameters.account).syncHistory(parameters)
  }

  func resolve(_ parameters: RecipientsResolveMethod.Parameters) async throws(Failure)
    -> RecipientsResolveMethod.Result
  {
    try await storedSession(parameters.account).resolve(parameters)
  }

  func contacts(_ parameters: ContactsListMethod.Parameters) async throws(Failure)
    -> ContactsListMethod.Result
  {
    try await storedSession(parameters.account).listContacts(after: parameters.after)
  }

  func contactRequests(_ parameters: ContactRequestsMethod.Parameters) async throws(Failure)
    -> ContactRequestsMethod.Result
  {
    try await storedSession(parameters.account).listRequests()
  }

  func blocked(_ parameters: ContactsBlockedMethod.Parameters) async throws(Failure)
    -> ContactsBlockedMethod.Result
  {
    try await storedSession(parameters.account).listBlocked()
  }

  func changeContact(_ parameters: ContactsChangeMethod.Parameters) async throws(Failure)
    -> ContactsChangeMethod.Result
  {
    try await storedSession(parameters.account).changeContact(parameters)
  }

  func changeConversation(_ parameters: ConversationsChangeMethod.Parameters) async throws(Failure)
    -> ConversationsChangeMethod.Result
  {
    try await storedSession(parameters.account).changeConversation(parameters)
  }

  func listDevices(_ parameters: DevicesListMethod.Parameters) async throws(Failure)
    -> DevicesListMethod.Result
  {
    try await storedSession(parameters.account).listDevices(parameters)
  }

  func ownDevice(_ parameters: DevicesSelfMethod.Parameters) async throws(Failure) -> Device {
    try await storedSession(parameters.account).ownDevice(parameters)
  }

  func devicePolicy(_ parameters: DevicesPolicyMethod.Parameters) async throws(Failure)
    -> DevicesPolicyMethod.Result
  {
    try await storedSession(parameters.account).devicePolicy(parameters)
  }

  func sendToDevice(_ parameters: DevicesSendMethod.Parameters) async throws(Failure) -> Sending {
    try await storedSession(parameters.account).sendToDevice(parameters)
  }

  func push(_ parameters: PushMethod.Parameters) async throws(Failure) -> PushMethod.Result {
    try await storedSession(parameters.account).push(parameters)
  }

  func kickDevices(_ parameters: DevicesKickMethod.Parameters) async throws(Failure)
    -> DevicesKickMethod.Result
  {
    try await storedSession(parameters.account).kickDevices(parameters)
  }
}
