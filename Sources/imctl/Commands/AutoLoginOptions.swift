import AgentProtocol
import ArgumentParser
import UserCommand

/// Options for automatic logins and retries.
struct AutoLoginOptions: ParsableArguments {
  @Flag(
    help: """
      Log in with the stored credentials and without prompts, and retry as long as that may help. Fails if another \
      device of the account has logged in since this one did.
      """)
  var auto = false

  @Flag(help: "With --auto: log in even if another device has logged in since.")
  var forced = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "How often to retry after a failure: a number or `unlimited`. Stored with the account.",
      valueName: "number"))
  var maxRetries: RetryLimit?

  @Option(
    help: ArgumentHelp(
      """
      What to do when somebody else ends the session: stop (default), reconnect (with another resource) or fight \
      (with the same resource). Each return waits longer than the one before; the fourth kick in a row is final. \
      Stored with the account.
      """, valueName: "what"))
  var onKick: OnKick?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Run this command once when an automatic login is refused. It gets the event as JSON on standard input and \
      prints a new secret, bare or as the JSON of --token-command. An empty value removes the command. Stored with \
      the account.
      """, valueName: "command"))
  var onAuthFailure: String?

  @Flag(help: "Return immediately, and log in in the background.")
  var detach = false

  var isGiven: Bool {
    auto || forced || maxRetries != nil || detach || onKick != nil || onAuthFailure != nil
  }

  func validate() throws {
    if forced && !auto {
      throw ValidationError(inLanguage("--forced requires --auto.", "--forced 须与 --auto 一起使用。"))
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
