import AgentProtocol
import NIOConcurrencyHelpers

@testable import Agent
@testable import AgentStore

/// A service without sessions: notes what it is asked and answers at once, but for `login`.
final class FakeService: AgentService {
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

  /// Waits until the client goes away; `refused@…` fails at once.
  func login(_ parameters: LoginMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> LoginMethod.Result
  {
    note("login \(parameters.account)")
    if parameters.account.hasPrefix("refused") {
      throw Failure(.authFailed, stage: .authenticate, condition: "not-authorized", text: "no")
    }
    notes.withLockedValue { $0.waiting += 1 }
    try? await Task.sleep(for: .seconds(3600))
    notes.withLockedValue { $0.cancelled += 1 }
    throw Failure(.cancelled, stage: .authenticate)
  }

  func logout(_ parameters: LogoutMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> LogoutMethod.Result
  {
    note("logout \(parameters.account ?? "default")")
    return LogoutMethod.Result(accounts: [parameters.account ?? "default"])
  }

  func status(_ parameters: StatusMethod.Parameters) async throws(Failure) -> [SessionStatus] {
    note("status")
    return [SessionStatus(account: parameters.account ?? "a@example.org", state: .syncOK)]
  }

  func idle(_ parameters: AgentIdleMethod.Parameters) async throws(Failure) -> [IdleStatus] {
    note("idle \(parameters.account ?? "all")")
    return [IdleStatus(account: parameters.account ?? "a@example.org", idle: parameters.mode, applied: true)]
  }

  func active(_ parameters: AgentActiveMethod.Parameters) async throws(Failure) -> [IdleStatus] {
    note("active \(parameters.account ?? "all")")
    return [IdleStatus(account: parameters.account ?? "a@example.org", idle: nil, applied: true)]
  }

  func presence(_ parameters: PresenceGetMethod.Parameters) async throws(Failure) -> PresenceStatus {
    PresenceStatus(show: .online, status: nil, priority: 0, applied: true)
  }

  func setPresence(_ parameters: PresenceSetMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> PresenceStatus
  {
    note("presence \(parameters.show) \(parameters.hold) \(client.id)")
    return PresenceStatus(
      show: parameters.show, status: parameters.status, priority: parameters.priority ?? 0, applied: true)
  }

  func removeAccount(_ parameters: AccountRemoveMethod.Parameters) async throws(Failure) {
    note("remove \(parameters.account)")
  }

  func changePassword(_ parameters: AccountPasswdMethod.Parameters) async throws(Failure)
    -> AccountPasswdMethod.Result
  {
    note("passwd \(parameters.account ?? "default") \(parameters.timeout)")
    return AccountPasswdMethod.Result(account: parameters.account ?? "default", usesCommand: false)
  }

  func deleteAccount(_ parameters: AccountDeleteMethod.Parameters) async throws(Failure)
    -> AccountDeleteMethod.Result
  {
    note("delete \(parameters.account ?? "default") \(parameters.timeout)")
    return AccountDeleteMethod.Result(account: parameters.account ?? "default")
  }

  func revokeToken(
    _ parameters: TokenRevokeMethod.Parameters
  ) async throws(Failure) -> TokenRevokeMethod.Result {
    note("revoke \(parameters.account ?? "default")")
    return TokenRevokeMethod.Result(revoked: true)
  }

  /// Waits for the server until ``acknowledge()``, but for those that do not want to.
  func send(_ parameters: MessageSendMethod.Parameters, client: ClientHandle) async throws(Failure) -> Sending
  {
    note("send \(parameters.messages.map { $0.body ?? "" }.joined(separator: ","))")
    let wait = DeliveryWait(parameters.wait == .none ? [] : ["all"])
    notes.withLockedValue { $0.sendings.append(wait) }
    return Sending {
      await wait.wait(seconds: 0)
      return parameters.messages.map {
        .init(id: $0.id ?? "made", to: $0.to, state: parameters.wait == .none ? .queued : .sent)
      }
    }
  }

  /// The server has what was sent with the first call that waits.
  func acknowledge() {
    let wait = notes.withLockedValue { $0.sendings.isEmpty ? nil : $0.sendings.removeFirst() }
    wait?.done("all")
  }

  func accepted(_ parameters: MessageAcceptedMethod.Parameters) async throws(Failure)
    -> MessageAcceptedMethod.Result
  {
    parameters.ids
  }

  func outbox(_ parameters: OutboxListMethod.Parameters) async throws(Failure) -> OutboxListMethod.Result {
    [.init(id: "1", to: "b@c", body: nil, accepted: "t", handedOver: false)]
  }

  func cancelMessages(_ parameters: OutboxCancelMethod.Parameters) async throws(Failure)
    -> OutboxCancelMethod.Result
  {
    OutboxCancelMethod.Result(cancelled: parameters.ids, handedOver: [])
  }

  func serverTime(_ question: ServerQuestion) async throws(Failure) -> ServerTime {
    note("time \(question.account ?? "default") \(question.fresh)")
    return ServerTime(
      account: "a@example.org", server: "example.org", time: "t", zone: "Z", ahead: 0, age: 0, cached: false)
  }

  func serverPing(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result {
    .init(account: "a@example.org", server: "example.org", milliseconds: question.timeout)
  }

  func serverVersion(_ question: ServerQuestion) async throws(Failure) -> ServerVersionMethod.Result {
    .init(
      account: "a@example.org", server: "example.org", software: .init(name: "n", version: nil, os: nil))
  }

  func serverInfo(_ question: ServerQuestion) async throws(Failure) -> ServerInfoMethod.Result {
    .init(account: "a@example.org", server: "example.org")
  }

  func profile(_ parameters: ProfileGetMethod.Parameters) async throws(Failure) -> Profile {
    Profile(jid: parameters.jid ?? "a@example.org", fields: [:])
  }

  func sendChatState(_ parameters: ChatStateSendMethod.Parameters) async throws(Failure) {}

  func changeProfile(_ parameters: ProfileSetMethod.Parameters) async throws(Failure) -> Profile {
    Profile(jid: "a@example.org", fields: parameters.fields)
  }

  func syncHistory(_ parameters: HistorySyncMethod.Parameters) async throws(Failure)
    -> HistorySyncMethod.Result
  {
    HistorySyncMethod.Result(fetched: parameters.limit, complete: parameters.with == nil)
  }

  func resolve(_ parameters: RecipientsResolveMethod.Parameters) async throws(Failure)
    -> RecipientsResolveMethod.Result
  {
    parameters.words.map { $0 + "@c" }
  }

  func contacts(_ parameters: ContactsListMethod.Parameters) async throws(Failure)
    -> ContactsListMethod.Result
  {
    note("contacts \(parameters.after ?? "first")")
    return ContactsListMethod.Result(contacts: [Contact(jid: "b@c")], more: false, stale: false)
  }

  func contactRequests(_ parameters: ContactRequestsMethod.Parameters) async throws(Failure)
    -> ContactRequestsMethod.Result
  {
    ContactRequestsMethod.Result(requests: [], stale: false)
  }

  func blocked(_ parameters: ContactsBlockedMethod.Parameters) async throws(Failure)
    -> ContactsBlockedMethod.Result
  {
    ContactsBlockedMethod.Result(blocked: [], stale: true)
  }

  func changeContact(_ parameters: ContactsChangeMethod.Parameters) async throws(Failure)
    -> ContactsChangeMethod.Result
  {
    note("\(parameters.change) \(parameters.jid ?? "all")")
    return ContactsChangeMethod.Result(action: nil, jid: parameters.jid)
  }

  func changeConversation(_ parameters: ConversationsChangeMethod.Parameters) async throws(Failure)
    -> ConversationsChangeMethod.Result
  {
    note("\(parameters.change) \(parameters.jid)")
    return ConversationsChangeMethod.Result(jid: parameters.jid, action: nil, published: false)
  }

  func listDevices(_ parameters: DevicesListMethod.Parameters) async throws(Failure)
    -> DevicesListMethod.Result
  {
    DevicesListMethod.Result(devices: [Device(resource: "desk", online: true, isSelf: true)])
  }

  func ownDevice(_ parameters: DevicesSelfMethod.Parameters) async throws(Failure) -> Device {
    note("self \(parameters.name ?? "as before")")
    return Device(resource: "desk", online: true, isSelf: true)
  }

  func devicePolicy(_ parameters: DevicesPolicyMethod.Parameters) async throws(Failure)
    -> DevicesPolicyMethod.Result
  {
    .init(DevicePolicy().changed(by: parameters), published: true)
  }

  func sendToDevice(_ parameters: DevicesSendMethod.Parameters) async throws(Failure) -> Sending {
    Sending { [.init(id: "1", to: parameters.resource, state: .sent)] }
  }

  func push(_ parameters: PushMethod.Parameters) async throws(Failure) -> PushMethod.Result {
    note("push \(parameters.enabled) \(parameters.service) \(parameters.node ?? "all")")
    return .init(service: parameters.service, node: parameters.node, enabled: parameters.enabled)
  }

  func kickDevices(_ parameters: DevicesKickMethod.Parameters) async throws(Failure)
    -> DevicesKickMethod.Result
  {
    note("kick \(parameters.resource ?? "all")")
    return DevicesKickMethod.Result(outcomes: [])
  }

  func agentStatus(clients: Int) async throws(Failure) -> AgentStatusMethod.Result {
    AgentStatusMethod.Result(version: "1", pid: 1, started: "t", accounts: 0, online: 0, clients: clients)
  }

  func bareJID(_ account: String) throws(Failure) -> String { try BareJID.normalise(account) }

  func stop() async {
    note("stop")
    onStop()
  }

  func clientClosed(_ client: ClientHandle) async { notes.withLockedValue { $0.closed.append(client) } }
}
