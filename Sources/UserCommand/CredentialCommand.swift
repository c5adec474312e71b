import AgentProtocol
import Subprocess
import Synchronization

/// A command of the user that prints a secret, such as `pass show xmpp`.
///
/// It runs without a shell, in a session of its own without a terminal. It inherits the environment of this process,
/// which contains no secrets of imctl. After the time limit, its whole process group is killed.
package struct CredentialCommand: Sendable, Equatable {
  /// The maximum size of the output in octets.
  static let maximumOutput = 1 << 16
  /// The number of octets of standard error that are kept for a failure.
  private static let maximumErrors = 1 << 12

  private let words: [String]
  private let timeLimit: Duration

  /// - Parameter line: The command line, which ``CommandWords/split(_:)`` splits.
  package init(_ line: String, timeLimit: Duration = .seconds(60)) throws(Failure) {
    words = try CommandWords.split(line)
    self.timeLimit = timeLimit
  }

  /// Runs the command and returns the first line of its output.
  ///
  /// Throws `credentialSourceFailed`: at the stage `input` (64) if the command cannot be run; at `authenticate` (77) if
  /// its output is empty or too long, or if it fails or exceeds the time limit. The failure contains the last line of
  /// standard error, but never the output.
  package func line() async throws(Failure) -> String {
    let (output, errors) = try await output()
    let line = output.prefix { $0 != 0x0A }
    let bytes = line.last == 0x0D ? line.dropLast() : line
    guard let secret = String(validating: bytes, as: UTF8.self) else { throw failed(.login(.notUTF8)) }
    guard !secret.isEmpty else { throw failed(.login(.noOutput), errors) }
    return secret
  }

  /// Runs the command and returns its whole output without the last line feed. The output may be empty.
  ///
  /// - Parameter input: The command's standard input.
  package func text(input: String = "") async throws(Failure) -> String {
    let (output, _) = try await output(input: input)
    guard var text = String(validating: output, as: UTF8.self) else { throw failed(.login(.notUTF8)) }
    if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
    return text
  }

  /// The output of a command that succeeded. Throws like ``line()``, except for errors about the content.
  package func output(input: String = "") async throws(Failure) -> (output: [UInt8], errors: [UInt8]) {
    let tail = Tail()
    let outcome: Outcome
    do {
      outcome = try await withThrowingTaskGroup(of: Outcome.self) { group in
        group.addTask { try await run(tail, input: input) }
        group.addTask {
          try await Task.sleep(for: timeLimit)
          return .timeout
        }
        defer { group.cancelAll() }
        return try await group.next() ?? .timeout
      }
    } catch is CancellationError {
      throw Failure(.cancelled, stage: .authenticate)
    } catch let error as SubprocessError {
      throw Failure(.credentialSourceFailed, stage: .input, detail: .about(words[0], Self.reason(error)))
    } catch {
      throw failed(.text("\(error)"))
    }
    switch outcome {
    case .timeout:
      throw failed(.session(.noAnswer, FailureDetail.seconds(timeLimit / .seconds(1))), tail.bytes)
    case .tooMuch:
      throw failed(.login(.tooMuchOutput, Self.maximumOutput), tail.bytes)
    case .ended(let status, let output):
      guard status.isSuccess else { throw failed(Self.detail(status), tail.bytes) }
      return (output, tail.bytes)
    }
  }

  private enum Outcome: Sendable {
    case ended(TerminationStatus, output: [UInt8])
    case tooMuch
    case timeout
  }

  private struct TooMuch: Error {}

  private func run(_ tail: Tail, input: String) async throws -> Outcome {
    var options = PlatformOptions()
    options.createSession = true
    options.teardownSequence = [
      .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(200))
    ]
    let name = words[0]
    do {
      let result = try await Subprocess.run(
        name.contains("/") ? .path(.init(name)) : .name(name),
        arguments: Arguments(Array(words.dropFirst())), environment: .inherit,
        platformOptions: options, input: .string(input), output: .sequence, error: .sequence
      ) { execution in
        async let errors: Void = tail.follow(execution.standardError)
        var output: [UInt8] = []
        for try await chunk in execution.standardOutput {
          output += chunk.withUnsafeBytes { Array($0) }
          if output.count > Self.maximumOutput { throw TooMuch() }
        }
        try await errors
        return output
      }
      return .ended(result.terminationStatus, output: result.closureResult)
    } catch is TooMuch {
      return .tooMuch
    }
  }

  /// The last octets of a stream, which are available even when the command is no longer awaited.
  private final class Tail: Sendable {
    private let kept = Mutex<[UInt8]>([])

    var bytes: [UInt8] { kept.withLock { $0 } }

    func follow(_ stream: SubprocessOutputSequence) async throws {
      for try await chunk in stream {
        kept.withLock { tail in
          tail += chunk.withUnsafeBytes { Array($0) }
          tail.removeFirst(max(0, tail.count - maximumErrors))
        }
      }
    }
  }

  /// The last line of standard error; nil if there is none.
  private static func lastLine(_ errors: [UInt8]) -> String? {
    let text = String(decoding: errors, as: UTF8.self)
    guard let line = text.split(whereSeparator: \.isNewline).last else { return nil }
    return String(line.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(200))
  }

  private static func detail(_ status: TerminationStatus) -> FailureDetail {
    switch status {
    case .exited(let code): .login(.exitStatus, code)
    case .signaled(let signal): .login(.signal, signal)
    }
  }

  private static func reason(_ error: SubprocessError) -> FailureDetail {
    switch error.code {
    case .executableNotFound: .login(.noSuchCommand)
    default: .login(.cannotRun)
    }
  }

  /// The failure for an unusable output.
  ///
  /// - Parameter errors: The standard error of the command, of which the last line is reported.
  package func failed(_ why: FailureDetail, _ errors: [UInt8] = []) -> Failure {
    let detail = Self.lastLine(errors).map { FailureDetail.about(why, $0) } ?? why
    return Failure(.credentialSourceFailed, stage: .authenticate, detail: .about(words[0], detail))
  }
}
