import AgentProtocol
import ArgumentParser
import Glibc

/// The command `imctl`: parses the arguments, runs a subcommand, and turns an error into an exit status.
@main
struct Imctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "imctl",
    abstract: "Go online on an XMPP server, stay online, send messages and change presence from the shell.",
    discussion: """
      `imctl login user@domain` goes online; a background agent keeps the session, so every later command \
      takes milliseconds. Data goes to standard output, everything else to standard error.
      """,
    version: "imctl \(Version.current)",
    subcommands: [
      LoginCommand.self, LogoutCommand.self, StatusCommand.self, WhoamiCommand.self, PresenceCommand.self,
      SendCommand.self, EditCommand.self, WatchCommand.self, HistoryCommand.self, OutboxCommand.self,
      ContactsCommand.self, ThreadsCommand.self,
      ConversationsCommand.self, DevicesCommand.self, PushCommand.self, AccountCommand.self,
      TokenCommand.self, ServerCommand.self, ProfileCommand.self, AgentCommand.self,
    ])

  static func main() {
    CrashHandling.runNothing()
    Console.holdClosedStreams()
    do {
      let arguments = try CommandName.resolve(Array(CommandLine.arguments.dropFirst()))
      if asksAgent { AgentClient.connectEarly() }
      let sorted = try TextArguments(arguments, hasInput: StandardInput.mayHaveText).sorted
      var command = try parse(sorted)
      try command.run()
      OneTimeAgent.end()
    } catch {
      CommandEnd(error, json: wantsJSON).exit()
    }
  }

  /// Parses the arguments of the command that they name, without those of its parents.
  ///
  /// This takes half as long as parsing all of them. Errors and help come from the parser of the whole command line,
  /// since they contain the names of the parents.
  private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
    let path = CommandName.path
    if arguments.starts(with: path), !arguments.contains(where: ["-h", "--help", "--help-hidden"].contains),
      let command = try? CommandName.command.parseAsRoot(Array(arguments.dropFirst(path.count)))
    {
      return command
    }
    return try parseAsRoot(arguments)
  }

  /// Whether `--json` was given, determined before the arguments are parsed.
  static var wantsJSON: Bool { words.contains("--json") }

  /// Whether this is a command that scripts run often, and that asks the agent.
  private static var asksAgent: Bool {
    ["send", "presence", "status"].contains(words.dropFirst().first)
      && words.allSatisfy { !["--direct", "--help", "-h"].contains($0) }
  }

  /// Whether `-q` was given.
  private static var isQuiet: Bool { words.contains("-q") || words.contains("--quiet") }

  /// The arguments before the COMMAND of `-- COMMAND`.
  private static var words: ArraySlice<String> { CommandLine.arguments.prefix { $0 != "--" } }

  /// Prints a remark when no parsed options are available: a line on standard error, in text output only.
  static func note(_ text: @autoclosure () -> String) {
    if !isQuiet && !wantsJSON { Console.remark(text()) }
  }
}
