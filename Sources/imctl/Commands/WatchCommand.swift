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
      Prints one line per event, until SIGINT (exit status 130) or --timeout (exit status 0). If the agent ends, the \
      command ends with exit status 69. With -v, a line on standard error says when watching has begun.

      The events are: state, synced, dataReady, success, presence, message, receipt, chatState, contact, group (not \
      used yet), conversation, device, kicked, loginRequired, tokenUnavailable, stanzaRefused and store. The event \
      wire is printed only if --events names it, for sessions that were logged in with -vv.

      With --since, the command first prints the messages, receipts, and changes of contacts, devices and \
      conversations that came after an event: at most the newest 100,000, and per account at most the newest 10,000 \
      changes each of contacts, devices and conversations. The event gap says that older events are no longer stored.

      With --exec, nothing is printed. Instead, COMMAND runs for every event, without a shell, one at a time and in \
      order. It gets the event as a line of JSON on standard input. Its output is the output of imctl, and its exit \
      status is ignored (-v shows it). If it runs longer than --exec-timeout, it is killed together with its process \
      group. If more than 1000 events, or 32 MiB, wait for it, an event gap replaces those that are left out.
      """)

  static let names = [
    "state", "synced", "dataReady", "success", "presence", "message", "receipt", "chatState", "contact",
    "group",
    "conversation", "device", "kicked", "loginRequired", "tokenUnavailable", "stanzaRefused", "store", "wire",
  ]

  @Option(
    help: ArgumentHelp("Print only these events (separated by commas).", valueName: "names"),
    completion: .list(Self.names),
    transform: Self.names(in:))
  var events: [String]?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      First print the messages, receipts, and changes of contacts, devices and conversations that came after the \
      event with this cursor.
      """, valueName: "cursor"))
  var since: Int64?

  @Option(
    name: [.customShort("a"), .customLong("account")],
    help: ArgumentHelp("Print only events of this account instead of every account.", valueName: "JID"),
    completion: .accounts)
  var account: String?

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 0)

  @Option(
    parsing: .remaining,
    help: ArgumentHelp(
      """
      Run this command for every event. All arguments that follow belong to it; a single word is split like in a \
      shell.
      """,
      valueName: "COMMAND"))
  var exec: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Kill COMMAND after this many seconds (0: never).", valueName: "seconds"))
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
      let rows = EventRows(output.style, namesAccounts: account == nil)
      return try watch(parameters, until: deadline) { try tell($0, rows) }
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
  private func tell(_ reply: RPCReply, _ rows: EventRows) throws {
    if output.json, !output.quiet, !reply.containsFailure {
      return Console.out(JSONLine.escape(String(reply.payload)))
    }
    guard let event = try? reply.event() else { return }
    if output.json { try output.data(event, text: "") } else { output.lines(rows.lines(of: event)) }
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
