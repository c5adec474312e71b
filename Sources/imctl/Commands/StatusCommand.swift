import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl status`: the state of the session.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the state of the session.",
    discussion: """
      Exits with status 0 if the account is online, and 1 if not; with --all, 0 if at least one account is online. \
      Starts no agent: if none is running, the command shows the last state that is stored.

      With --probe, the agent asks the server first. If the server does not answer within --timeout, the session is \
      lost and reconnects.

      With -v, a line shows how many stanzas were refused since the agent was started, by reason:

        carbon: a copy that does not come from the account itself.
        archive: an unrequested result, or a message of another account.
        push: a change of the contact or block list that the server did not make.
        receipt: a receipt from somebody who was not the recipient.
        approval: an approval from a contact who was never asked.
        request: a request without an answer, because its sender asks too often.
        stanza: a stanza that is too large.
      """)

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Flag(help: "Show all accounts.")
  var all = false

  @Flag(help: "Ask the server first whether it still answers.")
  var probe = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func validate() throws {
    if all && account.account != nil {
      throw ValidationError(
        inLanguage("--all and --account cannot be used together.", "--all 和 --account 不能同时使用。"))
    }
  }

  func run() throws {
    let sessions = try sessions()
    for (index, session) in sessions.enumerated() {
      if index > 0 { output.lines([""]) }
      try output.facts(session, StatusText.facts(session, isVerbose: output.verbose > 0))
    }
    if !sessions.contains(where: \.isOnline) { throw ExitCode(1) }
  }

  private func sessions() throws -> [SessionStatus] {
    do {
      var parameters = StatusMethod.Parameters(account: account.account, all: all, probe: probe)
      // Without a time limit, the command waits for as long as it takes to detect a dead connection.
      if timeout.seconds > 0 { parameters.timeout = timeout.seconds } else { parameters.timeout = 60 }
      let deadline = Deadline(timeout)
      return try AgentClient.answer(
        to: StatusMethod.self, parameters, until: probe ? deadline.ofAgent : deadline)
    } catch let failure as Failure where failure.name == .notInitialized && account.account == nil {
      // With no account, the state `offline` is a valid answer.
      output.note("\(peer: failure.message). \(peer: failure.hint)")
      return [SessionStatus(account: "", state: .offline)]
    }
  }
}

/// The text of `status`.
enum StatusText {
  static func facts(_ session: SessionStatus, isVerbose: Bool = false) -> [(name: String, value: String)] {
    var lines: [(name: String, value: String)] = session.account.isEmpty ? [] : [("account", session.account)]
    let since = session.since.map { " since " + LocalTime($0).description }
    lines.append(("state", session.state.rawValue + (since ?? "")))
    if let fullJID = session.fullJID { lines.append(("jid", fullJID)) }
    if let presence = session.presence { lines.append(("presence", Self.presence(presence))) }
    if let server = session.server, let text = Self.server(server) { lines.append(("server", text)) }
    if let nextRetry = session.nextRetry { lines.append(("next try", LocalTime(nextRetry).description)) }
    if let idle = session.idle { lines.append(("idle", idle.rawValue)) }
    if let attempt = session.attempt { lines.append(("attempt", String(attempt))) }
    if let lastSeen = session.lastSeen, !session.isOnline {
      lines.append(("last seen", LocalTime(lastSeen).description))
    }
    if session.queued > 0 { lines.append(("queued", String(session.queued))) }
    if session.uncertain > 0 { lines.append(("uncertain", String(session.uncertain))) }
    if isVerbose, let refused = session.refused {
      let counts = refused.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      lines.append(("refused", counts.joined(separator: ", ")))
    }
    if let cause = session.cause { lines.append(("cause", cause.message)) }
    for warning in session.warnings ?? [] { lines.append(("warning", warning.message)) }
    return lines
  }

  /// `away "lunch", priority 5 (not applied)`.
  static func presence(_ presence: PresenceStatus) -> String {
    self.presence(presence.show, presence.status, presence.priority)
      + (presence.applied ? "" : " (not applied)")
  }

  /// `away "lunch", priority 5`, safe on a terminal.
  static func presence(_ show: PresenceShow, _ status: String?, _ priority: Int) -> String {
    var text = show.rawValue
    if let status, !status.isEmpty { text += " \"\(peer: status)\"" }
    if priority != 0 { text += ", priority \(priority)" }
    return text
  }

  private static func server(_ server: SessionStatus.Server) -> String? {
    var parts: [String] = []
    if let host = server.host { parts.append(server.port.map { "\(host):\($0)" } ?? host) }
    if let tls = server.tls { parts.append("\(tls.version) \(tls.cipher)") }
    if let mechanism = server.mechanism { parts.append(mechanism) }
    if let software = server.software { parts.append(software) }
    if let roundTrips = server.roundTrips { parts.append("\(roundTrips) round trips") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
