import AgentProtocol
import Glibc
import Subprocess
import Synchronization

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// A command of the user that runs on an event.
///
/// It runs without a shell, in a session of its own without a terminal. The event is one line of JSON on its standard
/// input and never an argument, so that no text from a peer can be interpreted as an option or a word. After the time
/// limit, its whole process group is killed.
package struct HookCommand: Sendable {
  /// The result of a run.
  package enum End: Sendable, Equatable {
    case exited(Int32)
    case signaled(Int32)
    /// The command was killed after its time limit.
    case timedOut
    /// The command was killed because the caller was cancelled.
    case cancelled
    /// The command could not be run.
    case notRun(String)
  }

  package let words: [String]
  private let timeLimit: Duration

  /// - Parameter words: The command and its arguments; not empty.
  package init(words: [String], timeLimit: Duration) {
    self.words = words
    self.timeLimit = timeLimit
  }

  /// Runs the command once, with this process's standard output and error. The command need not read its input;
  /// therefore, this process has to ignore SIGPIPE.
  package func run(input: String) async -> End {
    await withTaskGroup(of: End.self) { group in
      group.addTask { await execute(input) }
      group.addTask {
        do {
          try await Task.sleep(for: timeLimit)
          return .timedOut
        } catch {
          return .cancelled
        }
      }
      let first = await group.next() ?? .cancelled
      group.cancelAll()
      // Waits for the end of the command.
      await group.waitForAll()
      return first
    }
  }

  private func execute(_ input: String) async -> End {
    guard let name = words.first else { return .notRun("no command") }
    var options = PlatformOptions()
    options.createSession = true
    options.teardownSequence = [
      .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: .milliseconds(200))
    ]
    let group = Mutex<pid_t?>(nil)
    // Kills processes that ignored SIGTERM, including children of a leader that has ended.
    defer { if Task.isCancelled, let group = group.withLock({ $0 }) { kill(-group, SIGKILL) } }
    do {
      let result = try await Subprocess.run(
        name.contains("/") ? .path(FilePath(name)) : .name(name),
        arguments: Arguments(Array(words.dropFirst())), environment: .inherit, platformOptions: options,
        input: .inputWriter,
        output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
        error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false)
      ) { execution in
        group.withLock { $0 = execution.processIdentifier.value }
        // The command need not read its input.
        _ = try? await execution.standardInputWriter.write(input)
        try? await execution.standardInputWriter.finish()
      }
      return switch result.terminationStatus {
      case .exited(let code): .exited(code)
      case .signaled(let signal): .signaled(signal)
      }
    } catch is CancellationError {
      return .cancelled
    } catch let error as SubprocessError where error.code == .executableNotFound {
      return .notRun("no such command")
    } catch {
      return .notRun("\(error)")
    }
  }
}
