import AgentProtocol
import Subprocess

/// A command of the user that prints a secret: `pass show xmpp`.
///
/// It is run without a shell, in a session of its own without a terminal and with the environment of this process,
/// in which no secret of ours is. When its time is up everything in its process group is killed.
public struct CredentialCommand: Sendable {
  /// Octets it may print.
  static let maximumOutput = 1 << 16
  /// Octets of its errors that are kept for the failure.
  private static let maximumErrors = 1 << 12

  private let words: [String]
  private let timeLimit: Duration

  /// - Parameter line: split by ``CommandWords/split(_:)``.
  public init(_ line: String, timeLimit: Duration = .seconds(60)) throws(Failure) {
    words = try CommandWords.split(line)
    self.timeLimit = timeLimit
  }

  /// Runs the command and gives the first line that it prints.
  ///
  /// Throws `credentialSourceFailed`: at the stage `input` (64) where the command cannot be run, at `authenticate`
  /// (77) where it gives nothing, too much or in too long a time, or ends with an error. The last line of its
  /// standard error is in the failure, its output never.
  public func secret() async throws(Failure) -> Secret {
    let outcome: Outcome
    do {
      outcome = try await withThrowingTaskGroup(of: Outcome.self) { group in
        group.addTask { try await run() }
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
      throw Failure(.credentialSourceFailed, stage: .input, detail: "\(words[0]): \(Self.reason(error))")
    } catch {
      throw failed("\(error)")
    }
    switch outcome {
    case .timeout: throw failed("no answer within \(timeLimit)")
    case .tooMuch: throw failed("more than \(Self.maximumOutput) octets of output")
    case .ended(let status, let output, let errors):
      guard status.isSuccess else { throw failed("\(status)" + Self.lastLine(errors)) }
      let line = output.prefix { $0 != 0x0A }
      let bytes = line.last == 0x0D ? line.dropLast() : line
      guard let secret = String(validating: bytes, as: UTF8.self) else { throw failed("not UTF-8") }
      guard !secret.isEmpty else { throw failed("no output" + Self.lastLine(errors)) }
      return Secret(secret)
    }
  }

  private enum Outcome: Sendable {
    case ended(TerminationStatus, output: [UInt8], errors: [UInt8])
    case tooMuch
    case timeout
  }

  private struct TooMuch: Error {}

  private func run() async throws -> Outcome {
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
        platformOptions: options, input: .none, output: .sequence, error: .sequence
      ) { execution in
        async let errors = Self.tail(execution.standardError)
        var output: [UInt8] = []
        for try await chunk in execution.standardOutput {
          output += chunk.withUnsafeBytes { Array($0) }
          if output.count > Self.maximumOutput { throw TooMuch() }
        }
        return (output, try await errors)
      }
      return .ended(
        result.terminationStatus, output: result.closureResult.0, errors: result.closureResult.1)
    } catch is TooMuch {
      return .tooMuch
    }
  }

  /// The last octets of `stream`.
  private static func tail(_ stream: SubprocessOutputSequence) async throws -> [UInt8] {
    var tail: [UInt8] = []
    for try await chunk in stream {
      tail += chunk.withUnsafeBytes { Array($0) }
      tail.removeFirst(max(0, tail.count - maximumErrors))
    }
    return tail
  }

  private static func lastLine(_ errors: [UInt8]) -> String {
    let text = String(decoding: errors, as: UTF8.self)
    guard let line = text.split(whereSeparator: \.isNewline).last else { return "" }
    return ": " + String(line.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(200))
  }

  private static func reason(_ error: SubprocessError) -> String {
    switch error.code {
    case .executableNotFound: "no such command"
    default: "cannot be run"
    }
  }

  private func failed(_ why: String) -> Failure {
    Failure(.credentialSourceFailed, stage: .authenticate, detail: "\(words[0]): \(why)")
  }
}
