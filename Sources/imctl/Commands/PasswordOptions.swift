import AgentProtocol
import ArgumentParser

/// The sources of the account's password in commands other than `login`.
struct PasswordOptions: ParsableArguments {
  @Flag(help: "Read the password from standard input (first line).")
  var passwordStdin = false

  @Option(
    help: ArgumentHelp(
      """
      Run this command and use its first line of output as the password. The command is split into words like in a \
      shell, but runs without one.
      """,
      valueName: "command"))
  var passwordCommand: String?

  func validate() throws {
    if passwordStdin && passwordCommand != nil {
      throw ValidationError(
        inLanguage(
          "--password-stdin and --password-command cannot be used together.",
          "--password-stdin 和 --password-command 不能同时使用。"))
    }
  }

  /// Whether a source was given.
  var isGiven: Bool { passwordStdin || passwordCommand != nil }

  /// The given password; nil if none was given.
  func read(until deadline: Deadline) throws -> String? {
    if let passwordCommand { return try CredentialSource.run(passwordCommand, until: deadline) }
    return passwordStdin ? try Self.standardInput(until: deadline) : nil
  }

  /// The next line of standard input.
  static func standardInput(until deadline: Deadline) throws -> String {
    try StandardInput.secret(until: deadline, orElse: empty)
  }

  /// Asks for a password on the terminal.
  ///
  /// - Parameter options: The options to name in the failure if there is no terminal.
  static func ask(_ question: String, options: String, until deadline: Deadline) throws -> String {
    guard Prompt.isPossible else {
      throw Failure.invalid(.usage(.noPassword, options))
    }
    guard let answer = try Prompt.secret(question, until: deadline), !answer.isEmpty else {
      throw Failure.invalid(empty)
    }
    return answer
  }

  /// Asks for a new password twice, since it is not visible while it is typed.
  static func askTwice(_ question: String, options: String, until deadline: Deadline) throws -> String {
    let first = try ask(question, options: options, until: deadline)
    let second = try ask(inLanguage("Again: ", "再次输入："), options: options, until: deadline)
    guard first == second else {
      throw Failure.invalid(.usage(.passwordsDiffer))
    }
    return first
  }

  static let empty = FailureDetail.usage(.emptyPassword)
}

/// The output of a command about its own stream.
extension OutputOptions {
  /// The language that the server is asked to use.
  static var language: String { Language.current == .chinese ? "zh" : "en" }

  func show(_ event: Event.Body) {
    switch event {
    case .state(let change): step(EventText.step(change))
    case .wire(let line) where verbose > 1: step(EventText.wire(line))
    default: break
    }
  }
}
