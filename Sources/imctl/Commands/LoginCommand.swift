import AgentProtocol
import ArgumentParser
import Glibc

/// `imctl login`: goes online, and stays online after this command has ended.
struct LoginCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Go online and stay online.",
    discussion: """
      Returns when the session is synced; the agent keeps it from then on. The password comes from \
      --password-stdin, --password-command, what is stored, or a prompt on a terminal, in this order; one that is \
      given is always verified with the server. Already online: exits 0 and does nothing, unless the secret or \
      connection options differ.
      """)

  @Argument(help: ArgumentHelp("user@domain; without it the last one.", valueName: "JID"))
  var jid: String?

  @OptionGroup(title: "Secret") var secret: SecretOptions
  @OptionGroup(title: "Connection, kept with the account") var connection: ConnectionArguments

  @Option(help: ArgumentHelp("Presence to show: online, chat, away, xa, dnd or offline.", valueName: "SHOW"))
  var presence: PresenceShow?

  @Flag(help: "Send no presence.")
  var noPresence = false

  @Flag(help: "Return as soon as the login is done, before the session is synced.")
  var noSync = false

  @Flag(
    help:
      "Log nobody in: list what the server of JID, or of a domain, offers to log in with. Some tell more to a JID."
  )
  var listMechanisms = false

  @Flag(help: "No agent: this process is the session, until a signal.")
  var foreground = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Bound of the whole login; 0 for none, and to retry after network problems.", valueName: "seconds"))
  var timeout = Timeout(seconds: 30)

  func validate() throws {
    if jid?.isEmpty == true { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    if let jid, let account = account.account, jid != account {
      throw ValidationError(
        inLanguage("JID and --account name different accounts.", "JID 和 --account 指定了不同的账号。"))
    }
    if presence != nil && noPresence {
      throw ValidationError(
        inLanguage("--presence and --no-presence exclude each other.", "--presence 和 --no-presence 不能同时使用。"))
    }
  }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    if listMechanisms {
      return try MechanismList.show(
        chosenJID(until: deadline), connection.options(), output, until: deadline)
    }
    var parameters = LoginMethod.Parameters(account: try chosenJID(until: deadline))
    parameters.options = try connection.options()
    parameters.store = secret.policy
    parameters.presence = presence
    parameters.noPresence = noPresence
    parameters.noSync = noSync
    parameters.wire = output.verbose > 1
    parameters.passwordCommand = secret.passwordCommand
    parameters.password = try secret.read(until: deadline)
    if try parameters.password == nil && needsSecret(parameters.account, until: deadline) {
      parameters.password = try secret.ask(for: parameters.account, until: deadline)
    }
    if foreground { return try stay(parameters, until: deadline) }
    try logIn(parameters, until: deadline)
  }

  private func logIn(_ parameters: LoginMethod.Parameters, until deadline: Deadline) throws {
    var parameters = parameters
    var watch = WatchMethod.Parameters()
    watch.account = parameters.account
    watch.events = ["state", "dataReady", "success"] + (output.verbose > 1 ? ["wire"] : [])
    let progress = Progress(
      inLanguage("logging in…", "正在登录…"), wanted: !output.json && !output.quiet && output.verbose == 0)
    var succeeded = false
    var cursor: Int64 = 0
    let result = try AgentClient.session(start: .whenNoneRuns, until: deadline.atMost(.ofRequest)) { agent in
      try agent.greet()
      parameters.timeout = deadline.secondsLeft ?? 0
      // The agent keeps to the time; this bound is for an agent that does not answer at all.
      agent.deadline = deadline.secondsLeft.map { Deadline(Timeout(seconds: $0 + 5)) } ?? .never
      _ = try agent.send(WatchMethod.self, watch)
      return try agent.answer(to: agent.send(LoginMethod.self, parameters)) { event in
        if case .success = event.body { succeeded = true }
        cursor = event.cursor
        try show(event)
      }
    }
    progress.end()
    guard let result else { return }
    if output.json && !succeeded {
      let event = Event(
        account: result.success.userId, time: Timestamp.now(), cursor: cursor, body: .success(result.success))
      try output.data(event, text: "")
    }
    if !output.json {
      let facts = [result.mechanism, result.tls?.version].compactMap { $0 }.joined(separator: ", ")
      try output.data(
        result, text: "\(peer: result.success.fullJID) online" + (facts.isEmpty ? "" : " (\(peer: facts))"))
      if result.already { output.note(inLanguage("it was online already", "此前已在线")) }
    }
  }

  private func stay(_ parameters: LoginMethod.Parameters, until deadline: Deadline) throws {
    try IdleAgent.stop(until: deadline.atMost(.ofRequest))
    var parameters = parameters
    parameters.timeout = deadline.secondsLeft ?? 0
    try Foreground.login(parameters) { event in
      try? show(event)
      if case .success(let success) = event.body, !output.json {
        try? output.data(success, text: "\(peer: success.fullJID) online")
      }
    }
  }

  private func show(_ event: Event) throws {
    if output.json {
      try output.data(event, text: "")
    } else if case .state(let change) = event.body {
      output.step(EventText.step(change))
    } else if case .wire(let line) = event.body {
      output.step(EventText.wire(line))
    }
  }

  /// The JID that is named, or the last one: on a terminal only as a proposal.
  private func chosenJID(until deadline: Deadline) throws -> String {
    if let jid = jid ?? account.account { return jid }
    let last = try StoredAccounts.last()
    if Prompt.isPossible {
      let answer = try Prompt.line(last.map { "JID [\(peer: $0)]: " } ?? "JID: ", until: deadline) ?? ""
      if !answer.isEmpty { return answer }
    }
    guard let last else { throw Failure.invalid(inLanguage("no JID is given", "没有给出 JID")) }
    return last
  }

  /// Nothing is stored that the agent could log in with, and it is not online already.
  private func needsSecret(_ account: String, until deadline: Deadline) throws -> Bool {
    if try StoredAccounts.hasSecret(account) { return false }
    let sessions = try? AgentClient.session(start: .never, until: deadline.atMost(.ofRequest)) {
      try $0.answer(to: $0.send(StatusMethod.self, .init(account: account)))
    }
    return !(sessions ?? []).contains(where: \.isOnline)
  }
}
