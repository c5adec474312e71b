import AgentProtocol
import ArgumentParser
import Glibc

/// The command `imctl`: parses, runs one subcommand, and turns what it threw into an exit status.
@main
struct Imctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "imctl",
    abstract: "Go online on an XMPP server, stay online, and change presence from the shell.",
    discussion: """
      `imctl login user@domain` goes online; a background agent keeps the session, so every later command
      takes milliseconds. Data goes to standard output, everything else to standard error.
      """,
    version: "imctl \(Version.current)",
    subcommands: [
      LoginCommand.self, LogoutCommand.self, StatusCommand.self, WhoamiCommand.self, PresenceCommand.self,
      WatchCommand.self, AccountCommand.self, AgentCommand.self,
    ])

  static func main() {
    runNothingOnCrash()
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      var command = try parseAsRoot(arguments)
      try command.run()
    } catch {
      CommandEnd(error, json: arguments.prefix { $0 != "--" }.contains("--json")).exit()
    }
  }

  /// A crash ends the process and runs nothing: in a static executable that was found through PATH, the Swift
  /// runtime takes the current directory for its own and would run a `swift-backtrace` that lies there.
  private static func runNothingOnCrash() {
    #if !DEBUG
      let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
      for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
        if unsafeBitCast(signal(number, SIG_DFL), to: Int.self) == ignored { signal(number, SIG_IGN) }
      }
    #endif
  }
}
