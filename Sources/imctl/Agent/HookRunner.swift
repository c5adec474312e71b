import AgentProtocol
import Synchronization
import Terminal
import UserCommand

/// Runs a command for every event, one at a time and in order, while this process goes on reading events.
final class HookRunner: Sendable {
  private let command: HookCommand
  private let onEnd: @Sendable (HookCommand.End) -> Void
  private let queue = Mutex(HookQueue())
  private let rings: AsyncStream<Void>
  private let bell: AsyncStream<Void>.Continuation

  /// - Parameter onEnd: told how each run ended.
  init(_ command: HookCommand, onEnd: @escaping @Sendable (HookCommand.End) -> Void) {
    self.command = command
    self.onEnd = onEnd
    (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Events that wait.
  var count: Int { queue.withLock { $0.count } }

  /// False for the first event that there is no room for: a `gap` stands for it.
  func add(_ event: Event) -> Bool {
    defer { bell.yield() }
    return queue.withLock { $0.add(event) }
  }

  /// There will be no more events.
  func finish() { bell.finish() }

  /// Returns when the command has run for every event after ``finish()``, or the task was cancelled.
  func run() async {
    var isOpen = true
    var rings = rings.makeAsyncIterator()
    while !Task.isCancelled {
      if let event = queue.withLock({ $0.popFirst() }) {
        let line = try? JSONLine.encode(event)
        onEnd(await command.run(input: (line ?? "") + "\n"))
      } else if isOpen {
        isOpen = await rings.next() != nil
      } else {
        return
      }
    }
  }
}
