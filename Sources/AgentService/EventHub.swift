import AgentProtocol
import AgentSession
import NIOConcurrencyHelpers

/// Delivers every event to all subscribers.
///
/// Publishing never waits: a subscriber that falls too far behind is cut off, without an effect on the others.
final class EventHub: EventPublisher {
  /// Which events a subscriber gets.
  struct Filter: Sendable, Equatable {
    /// The names of the wanted events; nil for all events except `wire`.
    var events: Set<String>?
    /// A normalised bare JID; nil for all accounts.
    var account: String?

    init(events: Set<String>? = nil, account: String? = nil) {
      self.events = events
      self.account = account
    }

    func matches(_ event: Event) -> Bool {
      (events?.contains(event.name) ?? (event.name != "wire"))
        && (account.map { $0 == event.account } ?? true)
    }

    /// The names of the wanted events that are kept in the local store.
    var storedNames: Set<String> { events.map(Event.storedNames.intersection) ?? Event.storedNames }
  }

  /// The events from the call of ``EventHub/subscribe(_:buffer:)`` on.
  ///
  /// The sequence ends when it or the reading task is cancelled, or when the buffer overflows.
  struct Subscription: AsyncSequence, Sendable {
    typealias Element = Event
    fileprivate let stream: AsyncStream<Event>
    fileprivate let continuation: AsyncStream<Event>.Continuation
    fileprivate let backlog: Backlog
    fileprivate let hub: EventHub
    fileprivate let id: UInt64
    let filter: Filter
    /// The newest cursor when the subscription began.
    let cursor: Int64

    /// Whether events were left out that the reader finds in the local store.
    var lags: Bool { hub.lags(id) }

    /// Stops leaving out events when the reader has handled its last one. Returns the cursor up to which it has to read
    /// from the local store; nil where nothing was left out, or more events wait here.
    func endLag(handling count: Int = 1) -> Int64? { hub.endLag(of: id, handling: count) }

    /// Ends the subscription. Buffered events can still be read.
    func cancel() { continuation.finish() }

    /// Returns when the reader has handled every event published before this call, or the subscription has ended.
    func caughtUp() async {
      await hub.handedOut()
      await backlog.empty()
    }

    func makeAsyncIterator() -> Iterator {
      Iterator(events: stream.makeAsyncIterator(), backlog: backlog)
    }

    struct Iterator: AsyncIteratorProtocol {
      fileprivate var events: AsyncStream<Event>.Iterator
      fileprivate let backlog: Backlog
      private var last: Event?

      fileprivate init(events: AsyncStream<Event>.Iterator, backlog: Backlog) {
        self.events = events
        self.backlog = backlog
      }

      /// Asking for the next event marks the previous one as handled.
      mutating func next() async -> Event? {
        if let last { backlog.done(octets: last.octets) }
        last = nil
        last = await events.next(isolation: #isolation)
        return last
      }
    }
  }

  private struct Subscriber {
    var filter: Filter
    var continuation: AsyncStream<Event>.Continuation
    var backlog: Backlog
    /// Whether stored events are left out of the buffer when too many events wait, because the reader can read the
    /// store.
    var readsStore: Bool
    var keptLimit: Int
    var lags: Bool
    var onOverflow: @Sendable () -> Void

    /// Whether the event is left out, to be read from the local store.
    mutating func leavesOut(_ event: Event) -> Bool {
      guard readsStore, event.isStored else { return false }
      if !lags { lags = backlog.pending >= keptLimit || backlog.octets >= EventHub.maximumKeptOctets }
      return lags
    }
  }

  /// An entry of the delivery queue.
  private enum Held {
    case event(Event)
    /// Cursors reserved for events that are not stored yet.
    case reservation(UInt64)
    /// A caller that waits until all entries before it are delivered.
    case waiter(CheckedContinuation<Void, Never>)
  }

  private struct State {
    /// The last assigned cursor, and the last delivered one.
    var cursor: Int64
    var handedOut: Int64
    var held: [Held] = []
    var nextReservation: UInt64 = 0
    var nextSubscriber: UInt64 = 0
    var subscribers: [UInt64: Subscriber] = [:]

    /// Removes subscribers whose subscriptions have ended.
    mutating func forgetEnded() {
      for (id, subscriber) in subscribers where subscriber.backlog.isOver { subscribers[id] = nil }
    }
  }

  /// The octets that may wait for a subscriber, and those above which stored events are left out.
  static let maximumOctets = 32 << 20
  static let maximumKeptOctets = 4 << 20

  private let state: NIOLockedValueBox<State>
  private let now: @Sendable () -> String
  private let used: @Sendable (Int64) -> Void

  /// - Parameters:
  ///   - cursor: the cursor of the last event ever; new events have greater ones.
  ///   - used: called with each assigned cursor; must return at once.
  ///   - now: returns the time of an event.
  init(
    cursor: Int64, used: @escaping @Sendable (Int64) -> Void = { _ in },
    now: @escaping @Sendable () -> String = Timestamp.now
  ) {
    state = NIOLockedValueBox(State(cursor: cursor, handedOut: cursor))
    self.used = used
    self.now = now
  }

  /// The cursor of the newest event.
  var cursor: Int64 { state.withLockedValue { $0.handedOut } }

  var subscribers: Int {
    state.withLockedValue { state in
      state.forgetEnded()
      return state.subscribers.count
    }
  }

  /// Assigns a time and a cursor to the event and delivers it. Subscribers see events in the order of their cursors.
  @discardableResult
  func publish(account: String, _ body: Event.Body) -> Event {
    let time = now()
    let (event, handedOut) = state.withLockedValue { state in
      state.cursor += 1
      let event = Event(account: account, time: time, cursor: state.cursor, body: body)
      state.held.append(.event(event))
      return (event, Self.handOut(&state))
    }
    handedOut.finish()
    used(event.cursor)
    return event
  }

  func reserve(_ count: Int) -> EventReservation {
    let reservation = state.withLockedValue { state in
      let first = state.cursor + 1
      state.cursor += Int64(count)
      let reservation = EventReservation(id: state.nextReservation, cursors: first..<state.cursor + 1)
      state.nextReservation += 1
      state.held.append(.reservation(reservation.id))
      return reservation
    }
    used(reservation.cursors.upperBound)
    return reservation
  }

  func fulfil(_ reservation: EventReservation, with events: [Event]) {
    let handedOut = state.withLockedValue { state in
      let place = state.held.firstIndex {
        if case .reservation(reservation.id) = $0 { true } else { false }
      }
      guard let place else { return HandedOut() }
      state.held.replaceSubrange(place...place, with: events.map(Held.event))
      return Self.handOut(&state)
    }
    handedOut.finish()
  }

  func fulfil(_ reservation: EventReservation, making events: () -> [Event]) {
    let passed = state.withLockedValue { state -> HandedOut? in
      state.forgetEnded()
      guard state.subscribers.isEmpty, case .reservation(reservation.id)? = state.held.first else {
        return nil
      }
      state.handedOut = reservation.cursors.upperBound - 1
      state.held.removeFirst()
      return Self.handOut(&state)
    }
    if let passed { passed.finish() } else { fulfil(reservation, with: events()) }
  }

  /// Returns when everything published before this call is delivered.
  private func handedOut() async {
    await withCheckedContinuation { waiter in
      let isDone = state.withLockedValue { state in
        if state.held.isEmpty { return true }
        state.held.append(.waiter(waiter))
        return false
      }
      if isDone { waiter.resume() }
    }
  }

  /// The work that remains after the lock is released.
  private struct HandedOut {
    var lost: [Subscriber] = []
    var waiters: [CheckedContinuation<Void, Never>] = []

    func finish() {
      for subscriber in lost {
        subscriber.continuation.finish()
        subscriber.onOverflow()
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  /// Delivers the entries up to the first open reservation.
  private static func handOut(_ state: inout State) -> HandedOut {
    var result = HandedOut()
    var count = 0
    state.forgetEnded()
    loop: for held in state.held {
      switch held {
      case .reservation: break loop
      case .waiter(let waiter): result.waiters.append(waiter)
      case .event(let event):
        state.handedOut = event.cursor
        for id in state.subscribers.keys {
          guard state.subscribers[id]?.filter.matches(event) == true,
            state.subscribers[id]?.leavesOut(event) == false, let subscriber = state.subscribers[id]
          else { continue }
          var isLost = subscriber.backlog.octets >= Self.maximumOctets
          subscriber.backlog.add(octets: event.octets)
          if !isLost, case .dropped = subscriber.continuation.yield(event) { isLost = true }
          if isLost {
            result.lost.append(subscriber)
            state.subscribers[id] = nil
          }
        }
      }
      count += 1
    }
    state.held.removeFirst(count)
    return result
  }

  /// - Parameters:
  ///   - buffer: the number of events that may wait for this subscriber.
  ///   - readsStore: whether stored events may be left out, because the reader finds them in the local store
  ///     (``Subscription/lags``).
  ///   - lags: whether the reader starts by reading the store.
  ///   - onOverflow: called once when the buffer overflows, which ends the subscription.
  func subscribe(
    _ filter: Filter = Filter(), buffer: Int = 1000, readsStore: Bool = false, lags: Bool = false,
    onOverflow: @escaping @Sendable () -> Void = {}
  ) -> Subscription {
    let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingOldest(buffer))
    let backlog = Backlog()
    let (id, cursor) = state.withLockedValue { state in
      state.forgetEnded()
      let id = state.nextSubscriber
      state.nextSubscriber += 1
      state.subscribers[id] = Subscriber(
        filter: filter, continuation: continuation, backlog: backlog,
        readsStore: readsStore, keptLimit: buffer / 2, lags: lags, onOverflow: onOverflow)
      return (id, state.handedOut)
    }
    // Does not take the hub's lock: readers are woken under that lock, and the cancellation of a reader calls this and
    // blocks the reader's wake-up until it returns.
    continuation.onTermination = { _ in backlog.end() }
    return Subscription(
      stream: stream, continuation: continuation, backlog: backlog, hub: self, id: id, filter: filter,
      cursor: cursor)
  }

  private func lags(_ id: UInt64) -> Bool { state.withLockedValue { $0.subscribers[id]?.lags ?? false } }

  private func endLag(of id: UInt64, handling count: Int) -> Int64? {
    state.withLockedValue { state in
      // The event that the reader is handling counts as pending.
      guard let subscriber = state.subscribers[id], subscriber.lags, subscriber.backlog.pending <= count
      else {
        return nil
      }
      state.subscribers[id]?.lags = false
      return state.handedOut
    }
  }

  /// Ends every subscription.
  func finish() {
    let all = state.withLockedValue { state in
      defer { state.subscribers = [:] }
      return state.subscribers.values.map(\.continuation)
    }
    for continuation in all { continuation.finish() }
  }
}
