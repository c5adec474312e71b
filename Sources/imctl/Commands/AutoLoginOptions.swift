import AgentProtocol
import ArgumentParser

/// Logging in without being asked anything, and again where that may help.
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
    help: ArgumentHelp("How often to try again what failed; kept with the account.", valueName: "number"))
  var maxRetries: Int?

  @Flag(help: "Return at once, and log in in the background.")
  var detach = false

  var isGiven: Bool { auto || forced || maxRetries != nil || detach }

  func validate() throws {
    if forced && !auto {
      throw ValidationError(inLanguage("--forced goes with --auto.", "--forced 须与 --auto 一起使用。"))
    }
    if let maxRetries, maxRetries < 0 {
      throw ValidationError(inLanguage("--max-retries is negative.", "--max-retries 为负数。"))
    }
  }

  func write(into parameters: inout LoginMethod.Parameters) {
    parameters.auto = auto
    parameters.forced = forced
    parameters.maxRetries = maxRetries
    parameters.detach = detach
  }
}
