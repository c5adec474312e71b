import AgentProtocol
import Synchronization
import Terminal
import UserCommand

/// Runs a command for every event, one at a time and in order, while this process continues to read events.
final class HookRunner: Sendable {
  private let command: HookCommand
  private let onEnd: @Sendable (HookCommand.End) -> Void
  private let queue = Mutex(HookQueue())
  private let rings: AsyncStream<Void>
  private let bell: AsyncStream<Void>.Continuation

  /// - Parameter onEnd: Receives the result of each run.
  init(_ command: HookCommand, onEnd: @escaping @Sendable (HookCommand.End) -> Void) {
    self.command = command
    self.onEnd = onEnd
    (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// The number of waiting events.
  var count: Int { queue.withLock { $0.count } }

  /// Adds an event. Returns false for the first event that was dropped, which a `gap` replaces.
  func add(_ event: Event) -> Bool {
    defer { bell.yield() }
    return queue.withLock { $0.add(event) }
  }

  /// Declares that no more events will follow.
  func finish() { bell.finish() }

  /// Runs the command for all events. Returns after the last event once ``finish()`` was called, or when the task is
  /// cancelled.
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
