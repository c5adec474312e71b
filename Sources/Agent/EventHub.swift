import AgentProtocol
import Synchronization

/// Hands every event to everyone who watches.
///
/// Publishing never waits: a subscriber that does not keep up is cut off, the others see nothing of it.
public final class EventHub: Sendable {
  /// Which events a subscriber gets.
  public struct Filter: Sendable, Equatable {
    /// `nil`: all but `wire`.
    public var events: Set<String>?
    /// Normalised bare JID; `nil`: every account.
    public var account: String?

    public init(events: Set<String>? = nil, account: String? = nil) {
      self.events = events
      self.account = account
    }

    public func matches(_ event: Event) -> Bool {
      (events?.contains(event.name) ?? (event.name != "wire"))
        && (account.map { $0 == event.account } ?? true)
    }
  }

  /// Events as they happen, from the moment of the call of ``EventHub/subscribe(_:buffer:)`` on.
  ///
  /// It ends when it is cancelled, when the task that reads it is, or when more events wait than the buffer holds.
  public struct Subscription: AsyncSequence, Sendable {
    public typealias Element = Event
    fileprivate let stream: AsyncStream<Event>
    fileprivate let continuation: AsyncStream<Event>.Continuation
    fileprivate let backlog: Backlog
    /// The newest cursor at the time of the subscription.
    public let cursor: Int64

    /// Ends the subscription. What waits in its buffer can still be read.
    public func cancel() { continuation.finish() }

    /// Returns when its reader is done with every event published before this call, or the subscription has ended.
    public func caughtUp() async { await backlog.empty() }

    public func makeAsyncIterator() -> Iterator {
      Iterator(events: stream.makeAsyncIterator(), backlog: backlog)
    }

    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var events: AsyncStream<Event>.Iterator
      fileprivate let backlog: Backlog
      private var hasRead = false

      fileprivate init(events: AsyncStream<Event>.Iterator, backlog: Backlog) {
        self.events = events
        self.backlog = backlog
      }

      /// Who asks for the next event is done with the one before.
      public mutating func next() async -> Event? {
        if hasRead { backlog.done() }
        hasRead = true
        return await events.next()
      }
    }
  }

  private struct Subscriber {
    var filter: Filter
    var continuation: AsyncStream<Event>.Continuation
    var backlog: Backlog
    var onOverflow: @Sendable () -> Void
  }

  private struct State {
    var cursor: Int64
    var nextSubscriber: UInt64 = 0
    var subscribers: [UInt64: Subscriber] = [:]
  }

  private let state: Mutex<State>
  private let now: @Sendable () -> String
  private let used: @Sendable (Int64) -> Void

  /// - Parameters:
  ///   - cursor: the cursor of the last event ever; the next one has a greater cursor.
  ///   - used: told each cursor that is given away; must return at once.
  ///   - now: the time of an event.
  public init(
    cursor: Int64, used: @escaping @Sendable (Int64) -> Void = { _ in },
    now: @escaping @Sendable () -> String = Timestamp.now
  ) {
    state = Mutex(State(cursor: cursor))
    self.used = used
    self.now = now
  }

  /// The cursor of the newest event.
  public var cursor: Int64 { state.withLock { $0.cursor } }

  public var subscribers: Int { state.withLock { $0.subscribers.count } }

  /// Gives the event its time and cursor and hands it out. Subscribers see events in the order of their cursors.
  @discardableResult
  public func publish(account: String, _ body: Event.Body) -> Event {
    let time = now()
    let (event, lost) = state.withLock { state in
      state.cursor += 1
      let event = Event(account: account, time: time, cursor: state.cursor, body: body)
      var lost: [Subscriber] = []
      for (id, subscriber) in state.subscribers where subscriber.filter.matches(event) {
        subscriber.backlog.add()
        if case .dropped = subscriber.continuation.yield(event) {
          lost.append(subscriber)
          state.subscribers[id] = nil
        }
      }
      return (event, lost)
    }
    for subscriber in lost {
      subscriber.continuation.finish()
      subscriber.onOverflow()
    }
    used(event.cursor)
    return event
  }

  /// - Parameters:
  ///   - buffer: events that may wait for this subscriber.
  ///   - onOverflow: called once when more than that wait; the subscription has ended then.
  public func subscribe(
    _ filter: Filter = Filter(), buffer: Int = 1000, onOverflow: @escaping @Sendable () -> Void = {}
  ) -> Subscription {
    let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingOldest(buffer))
    let backlog = Backlog()
    let (id, cursor) = state.withLock { state in
      let id = state.nextSubscriber
      state.nextSubscriber += 1
      state.subscribers[id] = Subscriber(
        filter: filter, continuation: continuation, backlog: backlog, onOverflow: onOverflow)
      return (id, state.cursor)
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.subscribers.removeValue(forKey: id) }
      backlog.end()
    }
    return Subscription(stream: stream, continuation: continuation, backlog: backlog, cursor: cursor)
  }

  /// Ends every subscription.
  public func finish() {
    let all = state.withLock { state in
      defer { state.subscribers = [:] }
      return state.subscribers.values.map(\.continuation)
    }
    for continuation in all { continuation.finish() }
  }
}
