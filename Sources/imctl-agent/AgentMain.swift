import AgentProtocol
import AgentService
import AgentSystem
import Glibc
import Terminal

/// The program `imctl-agent`, which `imctl` starts as `serve`, `once` or `session`. Users run `imctl`.
@main
enum AgentMain {
  private static let usage = """
    usage: imctl-agent serve [--keep] [--on-idle MODE] [--timeout SECONDS] [--json]
           imctl-agent once DESCRIPTOR
           imctl-agent session DESCRIPTOR
           imctl-agent --version
    This is the part of imctl that keeps the sessions; see `imctl help agent`.
    """

  static func main() {
    CrashHandling.runNothing()
    let words = Array(CommandLine.arguments.dropFirst())
    do throws(Failure) {
      switch (words.first, words.count) {
      case ("--version", 1): print("imctl-agent \(Version.current)")
      case ("serve", _): try serve(ServeArguments(words.dropFirst()))
      case ("once", 2): try OneTimeAgent(connection(words[1])).run()
      case ("session", 2): try ForegroundSession(connection(words[1])).run()
      default:
        complain(usage + "\n")
        exit(Failure(.invalidParameter, stage: .input).exit)
      }
    } catch {
      end(with: error, json: words.contains("--json"))
    }
  }

  private static func connection(_ word: String) throws(Failure) -> CommandConnection {
    guard let number = Int32(word), fcntl(number, F_GETFD) >= 0 else {
      throw Failure(.invalidParameter, stage: .input, detail: .agent(.notOpen, word))
    }
    return CommandConnection(number)
  }

  /// Runs the agent until a signal, `imctl agent stop` or the time limit, or until no client or account needs it.
  private static func serve(_ arguments: ServeArguments) throws(Failure) {
    _ = chdir("/")  // A directory in use could not be unmounted.
    do throws(Failure) {
      try arguments.checkVersion()
      // A launched agent must not notify the service manager of the command that started it.
      let notify = NotifySocket.fromEnvironment()
      var terms = AgentTerms()
      if !arguments.isLaunched { terms.notify = notify }
      terms.isKept = arguments.isKept
      terms.onIdle = arguments.onIdle
      try Foreground.agent(terms, timeout: arguments.timeout, tellsEnd: !arguments.isLaunched)
    } catch {
      guard arguments.isLaunched else { throw error }
      // The command may have ended, because another agent answered it. Then only other failures are logged.
      if report(error) || error.name == .alreadyRunning { exit(error.exit) }
      throw error
    }
  }

  /// Reports a failure to the command that started this agent. Returns false if that command has ended.
  private static func report(_ failure: Failure) -> Bool {
    signal(SIGPIPE, SIG_IGN)
    var line = RPC.report(failure)
    return line.withUTF8 { write(STDOUT_FILENO, $0.baseAddress, $0.count) == $0.count }
  }

  /// Prints the failure in the format of `imctl`.
  private static func end(with failure: Failure, json: Bool) -> Never {
    var text =
      json
      ? RPC.line(["error": failure])
      : "imctl: \(peer: failure.message)\n" + (failure.hint.isEmpty ? "" : "  \(peer: failure.hint)\n")
    text = text.replacing("imctl help COMMAND", with: "imctl help agent run")
    complain(text)
    exit(failure.exit)
  }

  private static func complain(_ text: String) {
    var text = text
    _ = text.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
