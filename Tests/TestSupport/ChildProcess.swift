import Glibc
import NIOConcurrencyHelpers
import Subprocess

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// A child process that runs until it is told to stop.
///
/// Its standard input is a pipe that only this process holds, so a child that ends at the end of its input
/// also ends when this process is killed. All the scripts in `Tests/Servers` do.
public final class ChildProcess: Sendable {
  /// How a child ended.
  public typealias Ending = TerminationStatus

  /// The process id.
  public let id: Int32
  /// What it writes to standard output.
  public let output: Transcript
  /// What it writes to standard error.
  public let errors: Transcript
  private let input: AsyncStream<String>.Continuation
  private let ending: Task<Ending, any Error>

  /// Starts `executable` (an absolute path); `environment` is added to ours, `nil` takes a variable away.
  public init(
    _ executable: String, _ arguments: [String], environment: [String: String?] = [:],
    workingDirectory: String? = nil
  ) async throws {
    // A child may end before it has read everything.
    signal(SIGPIPE, SIG_IGN)
    let (output, outputWriter) = try Transcript.pipe()
    let (errors, errorsWriter) = try Transcript.pipe()
    let (texts, input) = AsyncStream<String>.makeStream()
    let (started, start) = AsyncThrowingStream<Int32, any Error>.makeStream()
    let changes = Dictionary(
      uniqueKeysWithValues: environment.map { (Environment.Key(stringLiteral: $0), $1) })

    ending = Task {
      do {
        let result = try await run(
          .path(FilePath(executable)), arguments: Arguments(arguments),
          environment: .inherit.updating(changes), workingDirectory: workingDirectory.map { FilePath($0) },
          input: .inputWriter, output: Self.writing(outputWriter), error: Self.writing(errorsWriter)
        ) { child in
          start.yield(child.processIdentifier.value)
          async let inputEnd: Void = {
            for await text in texts { _ = try? await child.standardInputWriter.write(text) }
            try? await child.standardInputWriter.finish()
          }()
          await output.finished()
          await errors.finished()
          input.finish()
          await inputEnd
        }
        return result.terminationStatus
      } catch {
        start.finish(throwing: error)
        throw error
      }
    }
    guard let id = try await started.first(where: { _ in true }) else {
      throw TestSupportError("\(executable) did not start")
    }
    self.id = id
    self.output = output
    self.errors = errors
    self.input = input
  }

  deinit { input.finish() }

  /// Writes to the child's standard input.
  public func write(_ text: String) { input.yield(text) }

  /// Ends the child's standard input.
  public func closeInput() { input.finish() }

  /// Sends a signal to the child.
  public func send(_ signal: Int32) { _ = Glibc.kill(id, signal) }

  /// Waits for the child's end.
  public func ended() async throws -> Ending { try await ending.value }

  /// Waits for the child's end, and kills it when it has not come, or its output is still held open, after
  /// `limit`; then the answer is `nil`.
  public func ended(within limit: Duration) async throws -> Ending? {
    do {
      try await output.first("the end of output", within: limit) { $0.isFinished ? () : nil }
    } catch {
      send(SIGKILL)
      return nil
    }
    return try await ended()
  }

  /// Closes the child's input and waits for its end.
  @discardableResult
  public func stop() async throws -> Ending {
    closeInput()
    return try await ended()
  }

  private static func writing(_ descriptor: Int32) -> FileDescriptorOutput {
    .fileDescriptor(FileDescriptor(rawValue: descriptor), closeAfterSpawningProcess: true)
  }
}
