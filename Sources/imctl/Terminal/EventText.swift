import AgentProtocol
import Terminal

/// The content of an event as text.
enum EventText {
  static func body(_ body: Event.Body) -> String {
    switch body {
    case .state(let change): "\(change.previous.rawValue) -> " + step(change)
    case .synced(let part):
      ([part.part.rawValue] + [part.count.map(String.init)].compactMap(\.self)).joined(separator: " ")
    case .dataReady(let code): String(code)
    case .success(let success): "\(peer: success.fullJID) in \(success.milliseconds) ms"
    case .presence(let change): StatusText.presence(change.show, change.status, change.priority)
    case .message(let message): MessageText(message, OutputStyle(columns: nil)).description
    case .contact(let contact): Self.contact(contact)
    case .device(let device): Self.device(device)
    case .conversation(let change): conversation(change)
    case .receipt(let receipt): Self.receipt(receipt)
    case .chatState(let change): "\(peer: change.state)"
    case .wire(let line): wire(line)
    case .tokenUnavailable(let cause): "(\(peer: cause.message))"
    case .kicked(let kick): kicked(kick)
    case .loginRequired(let required): loginRequired(required)
    case .stanzaRefused(let refused):
      "\(refused.size) octets: \(peer: refused.reason)"
    case .store(let change): store(change)
    case .gap: "older events are lost"
    }
  }

  /// `pinned (self)`.
  private static func conversation(_ change: ConversationEvent) -> String {
    let marks = (change.marks ?? []).map { " +\(peer: $0)" }.joined()
    return "\(change.action.rawValue)\(marks) (\(peer: change.by))"
  }

  /// `delivered ID`.
  private static func receipt(_ receipt: ReceiptEvent) -> String {
    let why = [receipt.condition, receipt.text].compactMap(\.self).joined(separator: ": ")
    return "\(receipt.kind.rawValue) \(peer: receipt.id)" + (why.isEmpty ? "" : " \(peer: why)")
  }

  /// `request by contact: text`.
  private static func contact(_ contact: ContactEvent) -> String {
    var text = contact.action.rawValue
    if let actor = contact.by { text += " by \(actor.rawValue)" }
    if let original = contact.looksLike {
      text += inLanguage(" (looks like \(peer: original))", "（看起来像 \(peer: original)）")
    }
    if let said = contact.text { text += ": \(peer: said)" }
    return text
  }

  /// `rename by other-device: kitchen iPad`.
  private static func device(_ device: DeviceEvent) -> String {
    var text = device.action.rawValue
    if let actor = device.by { text += " by \(actor.rawValue)" }
    if let name = device.name { text += ": \(peer: name)" }
    return text
  }

  /// An element that was sent or received, with an arrow for its direction.
  static func wire(_ line: WireLine) -> String {
    "\(line.direction == "sent" ? "→" : "←") \(peer: line.xml)"
  }

  /// The ended session, since when it was online, the cause, and the agent's reaction.
  static func kicked(_ kick: Kick) -> String {
    var parts = ["\(peer: kick.fullJID)"]
    if let since = kick.onlineSince {
      let time = LocalTime(since).description
      parts.append(inLanguage("online since \(time)", "自 \(time) 起在线"))
    }
    parts.append("(\(peer: kick.cause.message))")
    if let retryIn = kick.retryIn {
      parts.append("\(kick.next.rawValue): next attempt in \(retryIn) s")
    } else {
      parts.append("\(peer: kick.cause.hint)")
    }
    return parts.joined(separator: " ")
  }

  static func loginRequired(_ required: LoginRequired) -> String {
    "(\(peer: required.cause.message)) "
      + (required.asksCommand
        ? inLanguage("the command of --on-auth-failure is asked", "正在运行 --on-auth-failure 的命令")
        : "\(peer: required.cause.hint)")
  }

  static func store(_ change: StoreChange) -> String {
    guard let cause = change.cause else { return inLanguage("works again", "已恢复正常") }
    return "(\(peer: cause.message))"
  }

  /// A step of the login: the state and its facts.
  static func step(_ change: StateChange) -> String {
    var parts = [change.state.rawValue]
    if let host = change.host { parts.append("\(peer: host)" + (change.port.map { ":\($0)" } ?? "")) }
    if let interface = change.interface { parts.append("\(peer: interface)") }
    if let tls = change.tls { parts.append("\(peer: tls.version) \(peer: tls.cipher)") }
    if let mechanism = change.mechanism { parts.append("\(peer: mechanism)") }
    if let fullJID = change.fullJID { parts.append("\(peer: fullJID)") }
    parts += (change.parts ?? []).map(\.rawValue)
    parts += SyncPart.allCases.compactMap { part in change.counts?[part].map { "\(part.rawValue) \($0)" } }
    if let late = change.late { parts.append("late: " + late.map(\.rawValue).joined(separator: " ")) }
    if change.resumed == true { parts.append("resumed") }
    if let attempt = change.attempt, attempt > 1 { parts.append("attempt \(attempt)") }
    if let retryIn = change.retryIn { parts.append("next attempt in \(retryIn) s") }
    if let roundTrips = change.roundTrips { parts.append("\(roundTrips) round trips") }
    if let cause = change.cause { parts.append("(\(peer: cause.message))") }
    return parts.joined(separator: " ")
  }
}
