import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import XMPPFeatures

/// Reads a request, checks its parameters, calls the service and writes the answer.
struct AgentRequestHandler: Sendable {
  let service: any AgentService
  let hub: EventHub
  /// Where messages are read that a watcher has missed.
  let store: LocalStore?
  /// Clients connected now.
  let clients: @Sendable () -> Int
  let places: Places

  /// What follows from a request.
  struct Outcome: Sendable {
    /// A line; `nil` for a notification.
    var answer: String?
    /// The line, where it is still to be waited for.
    var later: (@Sendable () async -> String)?
    /// The answer is ahead of those that are still to be waited for.
    var isPrompt = false
    /// The agent is to end after the answer.
    var stops = false
    /// The client needs its place for as long as it is there.
    var keepsPlace = false
  }

  /// Starts a subscription for `watch`, from a cursor on where one is named, and gives its own cursor. Its events are
  /// to be sent after the answer.
  typealias Subscribe = (EventHub.Filter, _ since: Int64?) -> Int64

  func handle(_ line: String, of client: ClientHandle, subscribe: Subscribe) async -> Outcome {
    let call: RPCCall
    do {
      call = try RPCCall(line: line)
    } catch {
      return Outcome(answer: RPC.answer(.null, error))
    }
    var outcome = Outcome()
    do {
      if call.method == MessageSendMethod.name {
        var parameters = try call.parameters(of: MessageSendMethod.self)
        try parameters.check()
        parameters.timeout = try await takePlace(client, within: parameters.timeout)
        let sending = try await service.send(parameters, client: client)
        if let id = call.id { outcome.later = { RPC.answer(id, await sending.outcome()) } }
        return outcome
      }
      if call.method == MessageSendLinesMethod.name {
        let parameters = try call.parameters(of: MessageSendLinesMethod.self)
        var messages = try parameters.checkedMessages()
        messages.timeout = try await takePlace(client, within: messages.timeout)
        let sending = try await service.send(messages, client: client)
        if let id = call.id {
          outcome.later = { RPC.answer(id, MessageSendLinesMethod.runs(of: await sending.outcome())) }
        }
        return outcome
      }
      if call.method == DevicesSendMethod.name {
        var parameters = try call.parameters(of: DevicesSendMethod.self)
        try parameters.check()
        parameters.timeout = try await takePlace(client, within: parameters.timeout)
        let sending = try await service.sendToDevice(parameters)
        if let id = call.id {
          outcome.later = {
            let outcomes = await sending.outcome()
            return outcomes.first.map { RPC.answer(id, $0) }
              ?? RPC.answer(id, RPCError(Failure(.internalError, stage: .request)))
          }
        }
        return outcome
      }
      if !Self.methodsWithoutPlace.contains(call.method) { try places.take(client) }
      let result = try await perform(call, of: client, subscribe: subscribe)
      outcome.answer = call.id.map { RPC.answer($0, result) }
      outcome.stops = call.method == AgentStopMethod.name
      outcome.isPrompt = call.method == MessageAcceptedMethod.name
      outcome.keepsPlace = try keepsPlace(call)
    } catch let error as RPCError {
      outcome.answer = call.id.map { RPC.answer($0, error) }
    } catch let failure as Failure {
      outcome.answer = call.id.map { RPC.answer($0, RPCError(failure)) }
    } catch {
      let failure = Failure(.internalError, stage: .request)
      outcome.answer = call.id.map { RPC.answer($0, RPCError(failure)) }
    }
    return outcome
  }

  /// However many clients there are, one can look how things are, log out, and end the agent.
  private static let methodsWithoutPlace: Set = [
    AgentStatusMethod.name, AgentStopMethod.name, StatusMethod.name, LogoutMethod.name,
    PresenceGetMethod.name, MessageAcceptedMethod.name, OutboxListMethod.name, OutboxCancelMethod.name,
  ]

  /// Messages wait for a place, in the order in which they came. What is left of their time, 0 for no bound.
  private func takePlace(_ client: ClientHandle, within seconds: Double) async throws(Failure) -> Double {
    let start = ContinuousClock.now
    try await places.take(client, within: seconds)
    if seconds == 0 { return 0 }
    return max(0.001, seconds - start.duration(to: .now) / .seconds(1))
  }

  private func keepsPlace(_ call: RPCCall) throws(RPCError) -> Bool {
    if call.method == WatchMethod.name { return true }
    guard call.method == PresenceSetMethod.name else { return false }
    return try call.parameters(of: PresenceSetMethod.self).hold
  }

  private func perform(
    _ call: RPCCall, of client: ClientHandle, subscribe: Subscribe
  ) async throws -> any Encodable {
    switch call.method {
    case LoginMethod.name:
      let parameters = try call.parameters(of: LoginMethod.self)
      try parameters.check()
      return try await service.login(parameters, client: client)
    case LogoutMethod.name:
      let parameters = try call.parameters(of: LogoutMethod.self)
      try check(seconds: parameters.flush, "flush")
      try check(seconds: parameters.timeout, "timeout")
      return try await service.logout(parameters, client: client)
    case StatusMethod.name:
      let parameters = try call.parameters(of: StatusMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      return try await service.status(parameters)
    case AgentIdleMethod.name:
      return try await service.idle(call.parameters(of: AgentIdleMethod.self))
    case AgentActiveMethod.name:
      return try await service.active(call.parameters(of: AgentActiveMethod.self))
    case PresenceGetMethod.name:
      return try await service.presence(call.parameters(of: PresenceGetMethod.self))
    case PresenceSetMethod.name:
      let parameters = try call.parameters(of: PresenceSetMethod.self)
      try parameters.check()
      return try await service.setPresence(parameters, client: client)
    case WatchMethod.name:
      let parameters = try call.parameters(of: WatchMethod.self)
      if let since = parameters.since, since < 0 { throw invalid("since") }
      let account = try parameters.account.map(service.bareJID)
      return WatchMethod.Result(
        cursor: subscribe(
          EventHub.Filter(events: parameters.events.map { Set($0) }, account: account), parameters.since))
    case MessageAcceptedMethod.name:
      let parameters = try call.parameters(of: MessageAcceptedMethod.self)
      if !(1...MessageAcceptedMethod.maximumIDs).contains(parameters.ids.count) { throw invalid("ids") }
      return try await service.accepted(parameters)
    case OutboxListMethod.name:
      return try await service.outbox(call.parameters(of: OutboxListMethod.self))
    case OutboxCancelMethod.name:
      let parameters = try call.parameters(of: OutboxCancelMethod.self)
      if parameters.all != parameters.ids.isEmpty { throw invalid("ids") }
      return try await service.cancelMessages(parameters)
    case ServerTimeMethod.name: return try await service.serverTime(question(call))
    case ServerPingMethod.name: return try await service.serverPing(question(call))
    case ServerVersionMethod.name: return try await service.serverVersion(question(call))
    case ServerInfoMethod.name: return try await service.serverInfo(question(call))
    case ProfileGetMethod.name:
      let parameters = try call.parameters(of: ProfileGetMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      return try await service.profile(parameters)
    case ProfileSetMethod.name:
      let parameters = try call.parameters(of: ProfileSetMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      return try await service.changeProfile(parameters)
    case ChatStateSendMethod.name:
      try await service.sendChatState(call.parameters(of: ChatStateSendMethod.self))
      return Nothing()
    case HistorySyncMethod.name:
      let parameters = try call.parameters(of: HistorySyncMethod.self)
      try parameters.check()
      return try await service.syncHistory(parameters)
    case RecipientsResolveMethod.name:
      let parameters = try call.parameters(of: RecipientsResolveMethod.self)
      if !(1...RecipientsResolveMethod.maximumWords).contains(parameters.words.count) {
        throw invalid("words")
      }
      return try await service.resolve(parameters)
    case ContactsListMethod.name:
      return try await service.contacts(call.parameters(of: ContactsListMethod.self))
    case ContactRequestsMethod.name:
      return try await service.contactRequests(call.parameters(of: ContactRequestsMethod.self))
    case ContactsBlockedMethod.name:
      return try await service.blocked(call.parameters(of: ContactsBlockedMethod.self))
    case ContactsChangeMethod.name:
      let parameters = try call.parameters(of: ContactsChangeMethod.self)
      try parameters.check()
      return try await service.changeContact(parameters)
    case ConversationsChangeMethod.name:
      let parameters = try call.parameters(of: ConversationsChangeMethod.self)
      try parameters.check()
      return try await service.changeConversation(parameters)
    case DevicesListMethod.name:
      let parameters = try call.parameters(of: DevicesListMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      return try await service.listDevices(parameters)
    case DevicesSelfMethod.name:
      let parameters = try call.parameters(of: DevicesSelfMethod.self)
      if !DeviceIdentity(name: parameters.name).isValid { throw invalid("name") }
      return try await service.ownDevice(parameters)
    case DevicesPolicyMethod.name:
      let parameters = try call.parameters(of: DevicesPolicyMethod.self)
      if !parameters.isValid { throw invalid("limits") }
      return try await service.devicePolicy(parameters)
    case DevicesKickMethod.name:
      let parameters = try call.parameters(of: DevicesKickMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      if parameters.resource?.isEmpty == true { throw invalid("resource") }
      if parameters.newPassword?.isEmpty == true { throw invalid("newPassword") }
      if parameters.newPassword != nil, parameters.resource != nil || parameters.of != nil {
        throw invalid("newPassword")
      }
      return try await service.kickDevices(parameters)
    case PushMethod.name:
      let parameters = try call.parameters(of: PushMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      if parameters.node?.isEmpty ?? parameters.enabled { throw invalid("node") }
      return try await service.push(parameters)
    case TokenRevokeMethod.name:
      let parameters = try call.parameters(of: TokenRevokeMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      return try await service.revokeToken(parameters)
    case AgentStatusMethod.name:
      return try await service.agentStatus(clients: clients())
    case AgentStopMethod.name:
      return Nothing()
    case AccountRemoveMethod.name:
      try await service.removeAccount(call.parameters(of: AccountRemoveMethod.self))
      return Nothing()
    case AccountPasswdMethod.name:
      let parameters = try call.parameters(of: AccountPasswdMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      try parameters.options.check()
      if parameters.newPassword.isEmpty { throw invalid("newPassword") }
      return try await service.changePassword(parameters)
    case AccountDeleteMethod.name:
      let parameters = try call.parameters(of: AccountDeleteMethod.self)
      try check(seconds: parameters.timeout, "timeout")
      try parameters.options.check()
      return try await service.deleteAccount(parameters)
    default:
      throw RPCError.unknownMethod(call.method)
    }
  }
}

/// What every question to a server has, checked.
private func question(_ call: RPCCall) throws(RPCError) -> ServerQuestion {
  let question = try call.parameters(of: ServerTimeMethod.self)
  try check(seconds: question.timeout, "timeout")
  return question
}

private func invalid(_ name: String) -> RPCError { .invalidParameter(name) }

/// Seconds that a `Duration` surely holds: at most a year.
private func check(seconds: Double, _ name: String) throws(RPCError) {
  guard seconds >= 0, seconds <= 31_536_000 else { throw invalid(name) }
}

extension LoginMethod.Parameters {
  fileprivate func check() throws(RPCError) {
    try Agent.check(seconds: timeout, "timeout")
    try options.check()
    for (name, file) in [("certFile", certFile), ("keyFile", keyFile)] {
      if let file, !file.hasPrefix("/") { throw invalid(name) }
    }
    if let maxRetries, maxRetries < 0 { throw invalid("maxRetries") }
    if let device, !device.isValid { throw invalid("device") }
    if let onAuthFailure, !onAuthFailure.isEmpty, (try? CommandWords.split(onAuthFailure)) == nil {
      throw invalid("onAuthFailure")
    }
    if let loginExt, loginExt.utf16.count > TokenChoice.maximumExtension { throw invalid("loginExt") }
    if forced && !auto { throw invalid("forced") }
    let isGiven = [password, passwordCommand, token, tokenCommand, certFile].contains { $0 != nil }
    if auto && (isGiven || auth == .anonymous) { throw invalid("auto") }
  }
}

extension ConnectionOptions {
  fileprivate func check() throws(RPCError) {
    if let port, !(1...65535).contains(port) { throw invalid("options.port") }
    if let tls, !["starttls", "direct"].contains(tls) { throw invalid("options.tls") }
    do { try checkProxy() } catch { throw invalid("options.proxy") }
    if let caFile, !caFile.hasPrefix("/") { throw invalid("options.caFile") }
    if let digest = certSHA256, digest.utf8.count != 64 || !digest.allSatisfy(\.isHexDigit) {
      throw invalid("options.certSHA256")
    }
  }
}

extension MessageSendMethod.Parameters {
  fileprivate func check() throws(RPCError) {
    try check(at: "messages", count: MessageSendMethod.maximumMessages)
  }

  /// - Parameter path: where the messages are among the parameters.
  fileprivate func check(at path: String, count: Int) throws(RPCError) {
    try Agent.check(seconds: timeout, "timeout")
    guard (1...count).contains(messages.count) else { throw invalid(path) }
    for message in messages {
      if let id = message.id, !(1...OutgoingMessage.maximumID).contains(id.utf8.count) {
        throw invalid("\(path).id")
      }
      if case .message(let id) = message.corrects, !(1...1024).contains(id.utf8.count) {
        throw invalid("\(path).corrects")
      }
      if message.body == nil, message.subject == nil { throw invalid("\(path).body") }
      if let type = message.type, !["chat", "normal", "headline", "groupchat"].contains(type) {
        throw invalid("\(path).type")
      }
      // Nobody confirms these.
      if wait == .delivered, let type = message.type, ["headline", "groupchat"].contains(type) {
        throw invalid("wait")
      }
      if !message.fits { throw invalid("\(path).body") }
    }
  }
}

extension MessageSendLinesMethod.Parameters {
  /// The messages, which can be right.
  fileprivate func checkedMessages() throws(RPCError) -> MessageSendMethod.Parameters {
    if id.isEmpty { throw invalid("id") }
    let messages = messages
    try messages.check(at: "text", count: MessageSendLinesMethod.maximumLines)
    return messages
  }
}

extension DevicesSendMethod.Parameters {
  fileprivate func check() throws(RPCError) {
    try Agent.check(seconds: timeout, "timeout")
    if resource.isEmpty { throw invalid("resource") }
    guard (1...OutgoingMessage.maximumText).contains(OutgoingMessage.octets(body)) else {
      throw invalid("body")
    }
    if let id, !(1...OutgoingMessage.maximumID).contains(id.utf8.count) { throw invalid("id") }
  }
}

extension HistorySyncMethod.Parameters {
  fileprivate func check() throws(RPCError) {
    if limit < 1 { throw invalid("limit") }
    let length = words.reduce(0) { $0 + $1.unicodeScalars.count }
    if words.count > HistoryQuery.maximumWords || length > HistoryQuery.maximumText { throw invalid("words") }
  }
}

extension ConversationsChangeMethod.Parameters {
  fileprivate func check() throws(RPCError) {
    try Agent.check(seconds: timeout, "timeout")
    for (name, marks) in [("adds", adds), ("removes", removes)] {
      let isWrong = marks.count > ConversationSettings.maximumMarks
      if isWrong || !marks.allSatisfy(ConversationSettings.isMark) { throw invalid(name) }
    }
    if (change == .mark) == (adds.isEmpty && removes.isEmpty) { throw invalid("adds") }
  }
}

extension ContactsChangeMethod.Parameters {
  /// Octets of a name, a group's too: what every server takes.
  private static var maximumName: Int { 1023 }

  fileprivate func check() throws(RPCError) {
    try Agent.check(seconds: timeout, "timeout")
    if (jid == nil) != (change == .unblockAll) { throw invalid("jid") }
    if let name, name.utf8.count > Self.maximumName || !name.isXMLLine { throw invalid("name") }
    for (name, groups) in [("groups", groups ?? []), ("adds", adds), ("removes", removes)] {
      let isWrong = groups.contains { $0.isEmpty || $0.utf8.count > Self.maximumName || !$0.isXMLLine }
      if isWrong || groups.count > Roster.maximumGroups { throw invalid(name) }
    }
    if let text, text.utf8.count > PresenceSubscription.maximumText { throw invalid("text") }
  }
}

extension String {
  /// Without the controls that XML does not have, or that end a line.
  fileprivate var isXMLLine: Bool { !unicodeScalars.contains { $0.properties.generalCategory == .control } }
}

extension PresenceSetMethod.Parameters {
  /// Octets of a status text.
  private static var maximumStatus: Int { 10_000 }

  fileprivate func check() throws(RPCError) {
    if let priority, !(-128...127).contains(priority) { throw invalid("priority") }
    if let duration { try Agent.check(seconds: duration, "duration") }
    if let since, since < 0 { throw invalid("since") }
    if let status, status.utf8.count > Self.maximumStatus { throw invalid("status") }
  }
}
