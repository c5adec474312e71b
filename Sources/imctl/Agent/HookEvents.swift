import AgentProtocol
import Dispatch
import Glibc
import Terminal
import UserCommand

/// Passes events to the user's command, and reports its failures.
struct HookEvents {
  private let runner: HookRunner
  private let work: Task<Void, Never>
  private let ended = DispatchSemaphore(value: 0)
  private let output: OutputOptions
  private let name: String

  init(_ command: HookCommand, _ output: OutputOptions) {
    // A command need not read its input, and writing to it must not end this process.
    signal(SIGPIPE, SIG_IGN)
    let name = command.words[0]
    self.name = name
    self.output = output
    let verbose = output.verbose > 0
    let quiet = output.quiet
    let runner = HookRunner(command) { end in
      if quiet { return }
      switch end {
      case .exited(let status):
        if verbose {
          Console.remark("\(peer: name): " + inLanguage("exit status \(status)", "退出状态 \(status)"))
        }
      case .signaled(let number):
        if verbose {
          Console.remark("\(peer: name): " + inLanguage("ended by signal \(number)", "被信号 \(number) 终止"))
        }
      case .timedOut:
        Console.remark("\(peer: name): " + inLanguage("killed because it took too long", "超时，已终止"))
      case .cancelled: break
      case .notRun(let why): Console.remark("\(peer: name): \(peer: why)")
      }
    }
    self.runner = runner
    let ended = ended
    work = Task {
      await runner.run()
      ended.signal()
    }
  }

  func add(_ event: Event) {
    if runner.add(event) || output.quiet { return }
    Console.remark(
      "\(peer: name): " + inLanguage("slower than the events: some are left out", "处理速度低于事件速度，部分事件被略过")
    )
  }

  /// Ends the command at once.
  func stop() {
    work.cancel()
    ended.wait()
    let left = runner.count
    if left > 0, !output.quiet {
      Console.remark(
        "\(peer: name): "
          + inLanguage("\(left) events were not passed to it", "有 \(left) 个事件未交给它"))
    }
  }

  /// Waits until the command has handled all events, or until the deadline or SIGINT.
  func finish(until deadline: Deadline) {
    runner.finish()
    let timeoutFailure = Failure.timedOut(.text(name))
    let work = work
    do {
      try AsyncWork.wait(until: deadline, else: timeoutFailure) { () async throws(Failure) in
        await withTaskCancellationHandler {
          await work.value
        } onCancel: {
          work.cancel()
        }
      }
    } catch {
      stop()
    }
  }
}
