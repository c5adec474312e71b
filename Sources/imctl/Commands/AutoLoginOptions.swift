import AgentProtocol
import ArgumentParser
import UserCommand

/// Options for automatic logins and retries.
struct AutoLoginOptions: ParsableArguments {
  @Flag(
    help: """
      Log in with what is stored and ask nothing; try as often as may help, as long as this is the device of the \
      last login.
      """)
  var auto = false

  @Flag(help: "With --auto: from any device.")
  var forced = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "How often to try again what failed, or `unlimited`; kept with the account.", valueName: "number"))
  var maxRetries: RetryLimit?

  @Option(
    help: ArgumentHelp(
      """
      What follows when somebody else ends the session: stop (default), reconnect under another resource, or fight \
      for its own. Whoever comes back waits longer every time; the fourth kick in a row is the end. Kept with the account.
      """, valueName: "what"))
  var onKick: OnKick?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Run this once when an automatic login is refused, the event as JSON on its standard input: it prints a fresh \
      secret, bare or as the JSON of --token-command. Empty: none. Kept with the account.
      """, valueName: "command"))
  var onAuthFailure: String?

  @Flag(help: "Return at once, and log in in the background.")
  var detach = false

  var isGiven: Bool {
    auto || forced || maxRetries != nil || detach || onKick != nil || onAuthFailure != nil
  }

  func validate() throws {
    if forced && !auto {
      throw ValidationError(inLanguage("--forced goes with --auto.", "--forced 须与 --auto 一起使用。"))
    }
  }

  func write(into parameters: inout LoginMethod.Parameters) throws {
    // The agent runs the command; here, only its words are checked.
    if let onAuthFailure, !onAuthFailure.isEmpty { _ = try CredentialCommand(onAuthFailure) }
    parameters.onKick = onKick
    parameters.onAuthFailure = onAuthFailure
    parameters.auto = auto
    parameters.forced = forced
    parameters.maxRetries = maxRetries?.number
    parameters.detach = detach
  }
}

/// The value of `--max-retries`.
struct RetryLimit: ExpressibleByArgument {
  /// The number of retries; ``LoginMethod/unlimitedRetries`` for no limit.
  let number: Int

  static let unlimited = "unlimited"

  init?(argument: String) {
    if argument == Self.unlimited {
      number = LoginMethod.unlimitedRetries
    } else if let count = Int(argument), count >= 0 {
      number = count
    } else {
      return nil
    }
  }
}

extension OnKick: ExpressibleByArgument {}
