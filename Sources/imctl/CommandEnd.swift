import AgentProtocol
import ArgumentParser
import Glibc
import Terminal

/// The end of a command that threw: its output, and the exit status.
struct CommandEnd {
  let standardOutput: String?
  let standardError: String?
  let status: Int32

  init(_ error: any Error, json: Bool) {
    switch error {
    case let code as ExitCode:
      self.init(status: code.rawValue)
    case let failure as Failure:
      self.init(failure, json: json)
    case let stopped as StoppedLines:
      let text = Self.text(stopped.failure) + "\n  " + stopped.accepted.text.replacing("\n", with: "\n  ")
      let object = json ? try? JSONLine.encode(stopped) : nil
      self.init(error: object ?? text, status: stopped.failure.exit)
    case let login as FailedLogin:
      self.init(error: (try? JSONLine.encode(login)) ?? Self.text(login.error), status: login.error.exit)
    case let error as ValidationError where !json:
      // After parsing, or for arguments that it could not parse, ArgumentParser does not know the command.
      self.init(error: UsageText(error, of: CommandName.command).description, status: 64)
    default:
      self.init(unknown: error, json: json)
    }
  }

  func exit() -> Never {
    OneTimeAgent.end()
    if let standardOutput { Console.out(standardOutput) }
    if let standardError { Console.err(standardError) }
    Glibc.exit(status)
  }

  private init(_ failure: Failure, json: Bool) {
    let object = json ? try? JSONLine.encode(["error": ErrorObject(failure)]) : nil
    self.init(error: object ?? Self.text(failure), status: failure.exit)
  }

  /// Handles everything that ArgumentParser throws: help, version, completions, usage errors.
  private init(unknown error: any Error, json: Bool) {
    let code = Imctl.exitCode(for: error)
    switch code {
    case .success:
      self.init(output: Imctl.fullMessage(for: error), status: 0)
    case .validationFailure where json:
      self.init(Failure.invalid(ParserMessage(Imctl.message(for: error)).detail), json: true)
    case .validationFailure:
      self.init(error: UsageText(Imctl.fullMessage(for: error)).description, status: code.rawValue)
    default:
      self.init(
        Failure(.internalError, stage: .request, detail: .text(String(describing: error))), json: json)
    }
  }

  private init(output: String? = nil, error: String? = nil, status: Int32) {
    standardOutput = output
    standardError = error
    self.status = status
  }

  /// The message, and the hint on a second line.
  static func text(_ failure: Failure) -> String {
    let hint = hint(failure)
    return "imctl: \(peer: failure.message)" + (hint.isEmpty ? "" : "\n  \(peer: hint)")
  }

  /// The failure as a JSON object, with the hint of this command.
  static func object(_ failure: Failure) -> some Encodable { ErrorObject(failure) }

  /// The hint with the name of this command, which the failure does not know.
  fileprivate static func hint(_ failure: Failure) -> String {
    failure.hint.replacing(
      "imctl help COMMAND", with: (["imctl", "help"] + CommandName.path).joined(separator: " "))
  }
}

/// The error object of a command, with the hint of this command.
private struct ErrorObject: Encodable {
  let failure: Failure

  init(_ failure: Failure) { self.failure = failure }

  private enum Key: CodingKey { case hint }

  func encode(to encoder: any Encoder) throws {
    try failure.encode(to: encoder)
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(CommandEnd.hint(failure), forKey: .hint)
  }
}

extension Failure {
  /// The failure for an invalid argument: exit status 64.
  static func invalid(_ detail: FailureDetail) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: detail)
  }

  /// The failure for a command that a signal has cancelled: exit status 130.
  ///
  /// - Parameter done: What was done before; nil: nothing.
  static func cancelled(_ done: FailureDetail? = nil) -> Failure {
    Failure(.cancelled, stage: .input, detail: done ?? .usage(.nothingChanged))
  }
}

/// A failed login as `--json` prints it: the error, and the login's result.
struct FailedLogin: Error, Encodable {
  let error: Failure
  let result: LoginResult

  init(_ failure: Failure) {
    error = failure
    result = LoginResult(failure)
  }
}

/// A sentence in the language of this process.
func inLanguage(_ english: String, _ chinese: String) -> String {
  Language.current == .chinese ? chinese : english
}
