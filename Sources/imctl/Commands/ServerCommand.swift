import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl server`: queries to the account's server.
struct ServerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "server",
    abstract: "Query the account's server.",
    discussion: """
      Uses the account's session. If the session is not online yet, the command waits for it. Exits with status 67 if \
      the account is not logged in, and 74 if the server answers with an error.
      """,
    subcommands: [
      ServerInfoCommand.self, ServerTimeCommand.self, ServerVersionCommand.self, ServerPingCommand.self,
      ServerFeaturesCommand.self,
    ])
}

/// The common options of the queries.
struct ServerOptions: ParsableArguments {
  @OptionGroup var common: AccountCommandOptions

  /// The agent's answer.
  func ask<Method: AgentMethod>(_ method: Method.Type, fresh: Bool = false) throws -> Method.Result
  where Method.Parameters == ServerQuestion {
    let deadline = Deadline(common.timeout)
    let answer = try AgentClient.session(start: .whenNoneRuns, until: deadline.ofAgent) { agent in
      try agent.answer(
        to: agent.send(
          method,
          ServerQuestion(account: common.account.account, timeout: deadline.secondsLeft ?? 0, fresh: fresh)))
    }
    guard let answer else { throw Failure.noAnswer }
    return answer
  }
}

/// `imctl server info`.
struct ServerInfoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info",
    abstract: "Show the server's software, services and contact addresses.")

  @OptionGroup var server: ServerOptions

  func run() throws {
    let info = try server.ask(ServerInfoMethod.self)
    try server.common.output.facts(info, Self.facts(info))
  }

  private static func facts(_ info: ServerInfoMethod.Result) -> [(name: String, value: String)] {
    var lines = [("server", info.server)]
    lines += info.identities.map { ("identity", "\($0.category)/\($0.type)" + quoted($0.name)) }
    if let software = info.software { lines.append(("software", software.text)) }
    for (purpose, addresses) in info.contact.sorted(by: { $0.key < $1.key }) {
      lines += addresses.map { ("contact", "\(purpose) \($0)") }
    }
    lines += info.services.map { ("service", $0.jid + quoted($0.name)) }
    lines.append(("features", String(info.features.count)))
    return lines
  }

  private static func quoted(_ name: String?) -> String { name.map { " \"\($0)\"" } ?? "" }
}

/// `imctl server time`.
struct ServerTimeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "time",
    abstract: "Show the server's time.",
    discussion: """
      The time is calculated from the server's last answer; the server is asked again when that answer is more than a \
      minute old. If the server does not answer, the last answer is used: a note on standard error says so, and the \
      exit status is 0.
      """)

  @OptionGroup var server: ServerOptions

  @Flag(help: "Ask the server now, even if its last answer is recent.")
  var fresh = false

  func run() throws {
    let time = try server.ask(ServerTimeMethod.self, fresh: fresh)
    try server.common.output.data(time, text: "\(peer: time.time)")
    if let cause = time.cause {
      server.common.output.note(
        inLanguage(
          "according to its answer \(Failure.seconds(time.age)) ago: \(peer: cause.message)",
          "根据 \(Failure.seconds(time.age)) 前的应答：\(peer: cause.message)"))
    } else {
      server.common.output.step(
        time.cached ? "asked \(Failure.seconds(time.age)) ago" : "asked now, \(time.ahead) s ahead of us")
    }
  }
}

/// `imctl server version`.
struct ServerVersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version",
    abstract: "Show the server's software.")

  @OptionGroup var server: ServerOptions

  func run() throws {
    let version = try server.ask(ServerVersionMethod.self)
    try server.common.output.data(version, text: "\(peer: version.software.text)")
  }
}

/// `imctl server ping`.
struct ServerPingCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ping",
    abstract: "Show how many milliseconds the server takes to answer.")

  @OptionGroup var server: ServerOptions

  func run() throws {
    let ping = try server.ask(ServerPingMethod.self)
    try server.common.output.data(ping, text: "\(ping.milliseconds) ms")
  }
}

/// `imctl server features`.
struct ServerFeaturesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "features",
    abstract: "List the server's features, one per line.",
    discussion: """
      With --json, each feature says whether the server has it for itself, and whether it has it for the account.
      """)

  @OptionGroup var server: ServerOptions

  func run() throws {
    for feature in try server.ask(ServerInfoMethod.self).features {
      try server.common.output.data(feature, text: "\(peer: feature.feature)")
    }
  }
}

extension ServerSoftware {
  /// `Prosody 0.12.3 (Linux)`.
  fileprivate var text: String {
    [name, version, os.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
  }
}
