import AgentProtocol
import ArgumentParser
import Glibc
import Terminal
import UserCommand

/// `imctl watch`: events as they happen.
struct WatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Print events as they happen.",
    discussion: """
      A line an event, until SIGINT (exit status 130) or --timeout (0). If the agent ends, so does this: exit \
      status 69. Events: state, synced, dataReady, success, presence, message, receipt, chatState, contact, group (nothing is \
      told under it yet), conversation, device, kicked, loginRequired, tokenUnavailable, stanzaRefused, store, and only when named: \
      wire, of sessions that were logged in with -vv. Without --account those of every account.

      With --since messages, receipts and changes of contacts, devices and conversations that came after an event are \
      told first: at most the newest 100,000, and of the last three the newest 10,000 each of an account; the event gap \
      tells that some are not kept any more. With -v a line on standard error says that it has begun.

      With --exec nothing is printed: COMMAND runs for every event, without a shell, with the event as a line of JSON on \
      its standard input; one at a time and in order. Its output is this command's, its exit status is ignored (-v tells \
      it). When it takes longer than --exec-timeout it is killed, with its process group. Where more than 1000 events, \
      or 32 MiB, wait for it, an event `gap` stands for those that are left out.
      """)

  static let names = [
    "state", "synced", "dataReady", "success", "presence", "message", "receipt", "chatState", "contact",
    "group",
    "conversation", "device", "kicked", "loginRequired", "tokenUnavailable", "stanzaRefused", "store", "wire",
  ]

  @Option(
    help: ArgumentHelp("Only these events, separated by commas.", valueName: "names"),
    completion: .list(Self.names),
    transform: Self.names(in:))
  var events: [String]?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Begin with the messages, receipts and changes of contacts, devices and conversations that came after the event \
      with this cursor.
      """, valueName: "cursor"))
  var since: Int64?

  @Option(
    name: [.customShort("a"), .customLong("account")],
    help: ArgumentHelp("Only events of this account; without it of every account.", valueName: "JID"))
  var account: String?

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional, help: ArgumentHelp("End after this time, 0 for never.", valueName: "seconds"))
  var timeout = Timeout(seconds: 0)

  @Option(
    parsing: .remaining,
    help: ArgumentHelp(
      "Run this for every event. All that follows belongs to it; a single word is split as a shell does.",
      valueName: "COMMAND"))
  var exec: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("How long COMMAND may take, 0 for any time.", valueName: "seconds"))
  var execTimeout = Timeout(seconds: 60)

  func validate() throws {
    if let since, since < 0 {
      throw ValidationError(inLanguage("The cursor is negative.", "游标为负数。"))
    }
    if account?.isEmpty == true { throw ValidationError(inLanguage("The account is empty.", "账号为空。")) }
    _ = try hook()
  }

  /// The command of `--exec`; nil without one.
  private func hook() throws -> HookCommand? {
    guard let first = exec.first else { return nil }
    let words: [String]
    do throws(Failure) {
      words = exec.count == 1 ? try CommandWords.split(first) : exec
    } catch {
      throw ValidationError("--exec: \(error.detail?.text(.current) ?? error.message)")
    }
    let limit = execTimeout.seconds > 0 ? Duration.seconds(execTimeout.seconds) : .seconds(365 * 86_400)
    return HookCommand(words: words, timeLimit: limit)
  }

  private static func names(in list: String) throws -> [String] {
    let wanted = list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    for name in wanted where !names.contains(name) {
      throw ValidationError(
        inLanguage(
          "No event is called \"\(name)\"; there are: \(names.joined(separator: ", ")).",
          "没有名为“\(name)”的事件；可用的有：\(names.joined(separator: ", "))。"))
    }
    return wanted
  }

  func run() throws {
    var parameters = WatchMethod.Parameters()
    parameters.events = events
    parameters.since = since
    parameters.account = account
    Interrupt.install()
    let deadline = Deadline(timeout)
    guard let hook = try hook() else {
      return try watch(parameters, until: deadline, onEvent: tell)
    }
    let hooks = HookEvents(hook, output)
    do {
      try watch(parameters, until: deadline) { if let event = try? $0.event() { hooks.add(event) } }
      hooks.stop()
    } catch {
      let isInterrupted = (error as? Failure)?.name == .cancelled
      if isInterrupted { hooks.stop() } else { hooks.finish(until: deadline) }
      throw error
    }
  }

  /// Prints an event. With `--json`, prints the agent's line unchanged, unless it contains a failure, whose sentences
  /// must be in this command's language.
  private func tell(_ reply: RPCReply) throws {
    if output.json, !output.quiet, !reply.containsFailure {
      return Console.out(JSONLine.escape(String(reply.payload)))
    }
    guard let event = try? reply.event() else { return }
    try output.data(event, text: EventText(event).description)
  }

  /// Passes events to `onEvent` until the deadline.
  private func watch(
    _ parameters: WatchMethod.Parameters, until deadline: Deadline, onEvent: (RPCReply) throws -> Void
  ) throws {
    try AgentClient.session(start: .whenNoneRuns, until: deadline.atMost(.ofRequest)) { agent in
      let watch = try agent.send(WatchMethod.self, parameters)
      _ = try agent.answer(to: watch, onEventReply: onEvent)
      output.step(inLanguage("watching", "正在监视"))
      agent.deadline = deadline
      while let event = try agent.nextEventReply() { try onEvent(event) }
    }
  }
}

/// An event as a line of text: time, account, name and content.
struct EventText: CustomStringConvertible {
  let description: String

  init(_ event: Event) {
    description = "\(peer: event.time) \(peer: event.account) \(event.name) \(Self.body(event.body))"
  }

  static func body(_ body: Event.Body) -> String {
    switch body {
    case .state(let change): "\(change.previous.rawValue) -> " + step(change)
    case .synced(let part):
      ([part.part.rawValue] + [part.count.map(String.init)].compactMap(\.self)).joined(separator: " ")
    case .dataReady(let code): String(code)
    case .success(let success): "\(peer: success.fullJID) in \(success.milliseconds) ms"
    case .presence(let change):
      "\(peer: change.from) " + StatusText.presence(change.show, change.status, change.priority)
    case .message(let message): Self.message(message)
    case .contact(let contact): Self.contact(contact)
    case .device(let device): Self.device(device)
    case .conversation(let change): conversation(change)
    case .receipt(let receipt): Self.receipt(receipt)
    case .chatState(let change): "\(peer: change.from) \(peer: change.state)"
    case .wire(let line): wire(line)
    case .tokenUnavailable(let cause): "(\(peer: cause.message))"
    case .kicked(let kick): kicked(kick)
    case .loginRequired(let required): loginRequired(required)
    case .stanzaRefused(let refused):
      "\(peer: refused.from ?? "") \(refused.size) octets: \(peer: refused.reason)"
    case .store(let change): store(change)
    case .gap: "older events are lost"
    }
  }

  /// `bob@example.org/desk -> alice@example.org: text`, preceded by marks.
  private static func message(_ message: MessageEvent) -> String {
    var text = MessageText(message)
    var marks: [String] = []
    if message.carbon { marks.append("carbon") }
    if message.delayed { marks.append("delayed") }
    if let id = message.replaces { marks.append("replaces \(peer: id)") }
    if let id = message.retracts { marks.append("retracts \(peer: id)") }
    text.marks += marks
    return "\(text.mark)\(peer: message.from ?? "") -> \(peer: message.to ?? ""): \(text.content)"
  }

  /// `bob@example.org pinned (self)`.
  private static func conversation(_ change: ConversationEvent) -> String {
    let marks = (change.marks ?? []).map { " +\(peer: $0)" }.joined()
    return "\(peer: change.jid) \(change.action.rawValue)\(marks) (\(peer: change.by))"
  }

  /// `ID delivered (bob@example.org/desk)`.
  private static func receipt(_ receipt: ReceiptEvent) -> String {
    let why = [receipt.condition, receipt.text].compactMap(\.self).joined(separator: ": ")
    return "\(peer: receipt.id) \(receipt.kind.rawValue) (\(peer: receipt.from))"
      + (why.isEmpty ? "" : " \(peer: why)")
  }

  /// `request bob@example.org by contact: text`.
  private static func contact(_ contact: ContactEvent) -> String {
    var text = "\(contact.action.rawValue) \(peer: contact.jid)"
    if let actor = contact.by { text += " by \(actor.rawValue)" }
    if let original = contact.looksLike {
      text += inLanguage(" (looks like \(peer: original))", "（看起来像 \(peer: original)）")
    }
    if let said = contact.text { text += ": \(peer: said)" }
    return text
  }

  /// `rename alice@example.org/phone by other-device: kitchen iPad`.
  private static func device(_ device: DeviceEvent) -> String {
    var text = "\(device.action.rawValue) \(peer: device.jid)"
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
      parts.append(inLanguage("online since \(peer: since)", "自 \(peer: since) 起在线"))
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
