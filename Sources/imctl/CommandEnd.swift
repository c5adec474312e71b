import AgentProtocol
import ArgumentParser
import Glibc

/// How a command ends that threw: what is printed where, and the exit status.
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
    case let login as FailedLogin:
      self.init(error: (try? JSONLine.encode(login)) ?? Self.text(login.error), status: login.error.exit)
    default:
      self.init(unknown: error, json: json)
    }
  }

  func exit() -> Never {
    if let standardOutput { Console.out(standardOutput) }
    if let standardError { Console.err(standardError) }
    Glibc.exit(status)
  }

  private init(_ failure: Failure, json: Bool) {
    let object = json ? try? JSONLine.encode(["error": failure]) : nil
    self.init(error: object ?? Self.text(failure), status: failure.exit)
  }

  /// Help, version, completions, usage errors: whatever ArgumentParser throws.
  private init(unknown error: any Error, json: Bool) {
    let code = Imctl.exitCode(for: error)
    switch code {
    case .success:
      self.init(output: Imctl.fullMessage(for: error), status: 0)
    case .validationFailure where json:
      self.init(Failure.invalid(Imctl.message(for: error)), json: true)
    case .validationFailure:
      self.init(error: Self.inFrame(Imctl.fullMessage(for: error)), status: code.rawValue)
    default:
      self.init(Failure(.internalError, stage: .request, detail: String(describing: error)), json: json)
    }
  }

  private init(output: String? = nil, error: String? = nil, status: Int32) {
    standardOutput = output
    standardError = error
    self.status = status
  }

  /// What ArgumentParser writes around a message, in the language of this process.
  private static func inFrame(_ message: String) -> String {
    guard Language.current == .chinese else { return message }
    let frame = [("Error: ", "错误："), ("Help:  ", "帮助："), ("Usage: ", "用法：")]
    return message.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let end = "' for more information."
      if line.hasPrefix("  See '"), line.hasSuffix(end) {
        return "  详见 '\(line.dropFirst(7).dropLast(end.count))'。"
      }
      guard let (english, chinese) = frame.first(where: { line.hasPrefix($0.0) }) else { return String(line) }
      return chinese + line.dropFirst(english.count)
    }.joined(separator: "\n")
  }

  /// The message, and the hint on a line of its own.
  static func text(_ failure: Failure) -> String {
    var text = "imctl: \(peer: failure.message)"
    if !failure.hint.isEmpty { text += "\n  \(peer: failure.hint)" }
    return text
  }
}

extension Failure {
  /// A wrong argument: exit status 64.
  static func invalid(_ detail: String) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: detail)
  }

  /// The user said no, by a signal: exit status 130.
  ///
  /// - Parameter done: what had happened already; nil: nothing.
  static func cancelled(_ done: String? = nil) -> Failure {
    Failure(.cancelled, stage: .input, detail: done ?? inLanguage("nothing was changed", "未作任何更改"))
  }
}

/// A login that has failed, as `--json` prints it: the error, and what has come of the login.
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
