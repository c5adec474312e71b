import AgentProtocol
import Glibc
import Subprocess
import Synchronization

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// A command of the user that is run when something happens.
///
/// It is run without a shell, in a session of its own without a terminal. What happened is one line of JSON on its
/// standard input, never an argument: nothing that came from a peer is ever taken for an option, a word or a name. When
/// its time is up everything in its process group is killed.
package struct HookCommand: Sendable {
  /// How a run ended.
  package enum End: Sendable, Equatable {
    case exited(Int32)
    case signaled(Int32)
    /// Its time was up: it was killed.
    case timedOut
    /// The caller gave it up: it was killed.
    case cancelled
    /// It could not be run.
    case notRun(String)
  }

  package let words: [String]
  private let timeLimit: Duration

  /// - Parameter words: the command and its arguments; at least one.
  package init(words: [String], timeLimit: Duration) {
    self.words = words
    self.timeLimit = timeLimit
  }

  /// Runs it once; its output goes where this process's goes. It need not read its input, so this process has to ignore
  /// SIGPIPE.
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
      // Returns when the command is no more.
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
    // Who does not obey, and what its leader has left behind.
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
        // It need not read what it is told.
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
