import NIOCore
import NIOPosix
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// What a stream reports, in order.
public enum StreamEvent: Sendable {
  // On the heap: whoever waits for an event sets memory aside for the largest.
  indirect case step(LoginStep)
  case message(Message)
  case presence(Presence)
  /// A request of type set that its responder has accepted, as a roster push (RFC 6121 §2.1.6), which was answered
  /// already; or one of ``StreamConfiguration/requestsForProgram``, which was not.
  case request(IQ)
  /// An IQ of type result or error that no ``XMPPStream/request(_:timeout:)`` waits for: the answer to a request that
  /// was sent with ``XMPPStream/send(_:)``, or one that comes late. Anybody may send such a thing unasked: it answers
  /// the request that has its `id` only where its `from` is whom that went to (RFC 6120 §8.2.3).
  case answer(IQ)
  /// Everything that had come when ``XMPPStream/mark(_:)`` was called was reported before.
  case marked(String)
  /// A stanza was more than ``StreamConfiguration/limits`` allow, and how: all there is of it is its start tag and that
  /// of the child in which the rest was, without what was too much. It counts as handled.
  case leftOut(XMLElement, String, octets: Int)
  /// The server has these stanzas, oldest first (XEP-0198 §4). Who takes no events and sends is told of the last
  /// 10,000 of them.
  case acknowledged([SentStanza])
  /// With ``StreamConfiguration/confirmsStanzas``: the events before were made of the stanzas up to this number. What
  /// they ask for having been done, ``XMPPStream/confirm(through:)`` tells the server.
  case received(through: UInt32)
  /// The last event. nil: this side closed the stream and the server agreed (RFC 6120 §4.4).
  case closed(XMPPError?)

  /// Octets of memory that the peer's part of it takes, about.
  var footprint: Int {
    let elements =
      switch self {
      case .message(let message): message.payload
      case .presence(let presence): presence.payload
      case .request(let iq), .answer(let iq): iq.payload
      case .leftOut(let element, _, _): [element]
      case .step, .marked, .acknowledged, .received, .closed: [XMLElement]()
      }
    return elements.reduce(0) { $0 + $1.footprint }
  }
}

/// An XMPP client stream: one connection of one account, used once (RFC 6120).
///
/// The actor runs on its channel's event loop, so nothing hops between a byte and its stanza. ``connect()``
/// returns when a resource is bound; stanzas and the end of the stream come from ``next()`` or ``events``. When
/// nobody takes the events, the stream stops reading from the network instead of storing them; acknowledgements do not
/// count, so that a program may send for ever without taking any. A stream that nobody refers to any more is closed.
///
///     let stream = XMPPStream(.init(account: try JID("alice@example.org"), credentials: credentials))
///     let bound = try await stream.connect()
///     try await stream.send([Presence(show: .away, status: "lunch").element])
///     await stream.close()
public actor XMPPStream {
  enum State {
    case idle
    case connecting
    /// Encrypted, and not to be logged in: only the server can be asked.
    case beforeLogin
    case online(BoundStream)
    /// `</stream:stream>` was sent.
    case closing
    /// The server has ended the stream and not the connection yet. The error is told when it has, and nothing came before.
    case ended(XMPPError)
    case closed

    var isOpen: Bool {
      switch self {
      case .beforeLogin, .online: true
      case .idle, .connecting, .closing, .ended, .closed: false
      }
    }
  }

  /// What a negotiation has led to, by its purpose.
  enum Negotiated {
    case login(BoundStream)
    case features(StreamFeatures)
  }

  public nonisolated let configuration: StreamConfiguration
  nonisolated let eventLoop: any EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    eventLoop.executor.asUnownedSerialExecutor()
  }

  var state = State.idle
  /// The one that was won, or that of the contender that is acted for.
  var connection: StreamConnection?
  var establishment: StreamEstablishment
  /// Bounds connecting, and later closing.
  var deadline: Scheduled<Void>?
  var closers: [CheckedContinuation<Void, Never>] = []
  var requests = IQTracker<(Result<IQ, XMPPError>) -> Void>()
  var inbox = StreamInbox()
  /// What the next stream needs to go on with this session (``StreamConfiguration/resuming``), also after its end; nil
  /// where it is not managed. A stream that did not come so far leaves the session that it was to go on with.
  public internal(set) var management: StreamManagement?
  var reception = StreamReception()
  var probes = AcknowledgementProbes()
  var silence = StreamSilence()
  /// What the server offers now; nil until it has said so, which may be after an inline bind (XEP-0386).
  public internal(set) var features: StreamFeatures?

  public init(_ configuration: StreamConfiguration, on eventLoop: (any EventLoop)? = nil) {
    self.configuration = configuration
    establishment = StreamEstablishment(beforeBinding: configuration.beforeBinding)
    self.eventLoop = eventLoop ?? MultiThreadedEventLoopGroup.singleton.next()
  }

  // MARK: Events

  /// The next event; nil after `closed`, and when the calling task is cancelled.
  ///
  /// Several callers share the events: each event goes to the one that has waited longest.
  public func next() async -> StreamEvent? {
    if let event = inbox.popFirst() {
      updateReading()
      return event
    }
    if inbox.isFinished { return nil }
    let turn = inbox.nextTurn()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { inbox.wait($0, turn) }
    } onCancel: {
      eventLoop.execute { self.assumeIsolated { $0.inbox.stopWaiting(turn) } }
    }
  }

  /// The next events, which can be handled together: a message and the messages behind it that are here already, or a request
  /// (``StreamEvent/request(_:)``) and the requests behind it; of anything else one event. Nil as ``next()``.
  public func nextEvents(_ maximum: Int) async -> [StreamEvent]? {
    guard let first = await next() else { return nil }
    var events = [first]
    while events.count < maximum, let event = inbox.popFirst(like: first) { events.append(event) }
    if events.count > 1 { updateReading() }
    return events
  }

  /// Reports ``StreamEvent/marked(_:)`` behind everything that has come up to now.
  public func mark(_ name: String) { report(.marked(name)) }

  func report(_ event: StreamEvent) {
    inbox.put(event)
    updateReading()
  }

  /// A peer that does not read what it asks for is not read either.
  func writabilityChanged(to isWritable: Bool) {
    connection?.isWritable = isWritable
    updateReading()
  }

  /// Reads while the consumer and the peer keep up, and always while the stream is being closed.
  ///
  /// A consumer that waits for an answer or an acknowledgement takes no events: up to a limit it is read on for what
  /// stands behind them.
  func updateReading() {
    guard let connection, connection.channel.isActive else { return }
    let isAwaiting = !requests.isEmpty || management?.isAsking == true
    let hasRoom = !inbox.isPaused || (isAwaiting && !inbox.isFull)
    var mayRead = connection.isWritable && hasRoom
    switch state {
    case .closing, .ended: mayRead = true
    case .idle, .connecting, .beforeLogin, .online, .closed: break
    }
    guard mayRead != connection.isReading else { return }
    self.connection?.isReading = mayRead
    connection.channel.setOption(.autoRead, value: mayRead).whenComplete { _ in }
  }

  // MARK: The end

  /// Stanzas can be sent: false from the stream's end on, also before the event of it is read.
  public var isOpen: Bool { state.isOpen }

  var channel: (any Channel)? { connection?.channel }

  /// The addresses of this machine that the stream is connected from: none before there is a connection, and several
  /// while it tries several targets.
  public var localAddresses: Set<String> {
    let channels = [channel].compactMap(\.self) + (establishment.race?.channels ?? [])
    return Set(channels.compactMap { $0.localAddress?.ipAddress })
  }

  /// Time since the server last sent anything.
  public var idleTime: TimeAmount { .now() - silence.lastInput }

  /// Ends a stream whose server does not answer any more: `error` comes as the `closed` event.
  ///
  /// The connection is reset: nothing that was written to it arrives any more, and a session that can be resumed is
  /// not closed.
  public func abort(_ error: XMPPError) {
    guard state.isOpen else { return }
    reset(error)
  }

  /// Ends the stream: `stanzas`, `</stream:stream>`, and the server's own within `patience` (RFC 6120 §4.4).
  ///
  /// While connecting it cancels. Never fails: what cannot be said any more is left unsaid.
  public func close(sending stanzas: [XMLElement] = [], patience: TimeAmount = .seconds(2)) async {
    switch state {
    case .idle: finish(nil)
    case .connecting: reset(XMPPError(.cancelled, stage: .connect, .says(.loginCancelled)))
    case .closed: return
    case .beforeLogin, .online:
      state = .closing
      endOutput(with: stanzas + [management?.acknowledgement()].compactMap(\.self))
      management?.end()
      updateReading()
      deadline = eventLoop.scheduleTask(in: patience) { self.assumeIsolated { $0.finish(nil) } }
      await waitUntilClosed()
    case .closing, .ended: await waitUntilClosed()
    }
  }

  private func waitUntilClosed() async {
    if case .closed = state { return }
    await withCheckedContinuation { closers.append($0) }
  }

  /// The one way into `closed`: wakes everybody who waits.
  func finish(_ error: XMPPError?) {
    if case .closed = state { return }
    let wasConnecting = establishment.waiter != nil
    switch state {
    case .idle, .connecting: management = management ?? configuration.resuming
    case .beforeLogin, .online, .closing, .ended, .closed: break
    }
    state = .closed
    deadline?.cancel()
    silence.cancel()
    hangUp()
    let reason = error ?? XMPPError(.cancelled, stage: .stream, .says(.streamClosed))
    endNegotiation(.failure(reason))
    endRace(.failure(reason))
    endEstablishment(.failure(reason))
    for waiter in requests.removeAll() { waiter(.failure(reason)) }
    probes.end(.failure(reason))
    report(.closed(wasConnecting ? reason : error))
    inbox.finish()
    for closer in closers { closer.resume() }
    closers = []
  }

  /// Ends with a connection that is reset, not closed: bytes that the system still holds for a peer that does not take them
  /// must not reach it when another connection has gone on. A late `<resume/>` would take the session from that one.
  func reset(_ error: XMPPError) {
    connection?.isOutputOpen = false
    establishment.race?.silence()
    for channel in [channel].compactMap(\.self) + (establishment.race?.channels ?? []) {
      _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
    finish(error)
  }

  /// Closes the connection, and before it the stream, as both sides must (RFC 6120 §4.4).
  func hangUp() {
    endOutput()
    channel?.close(promise: nil)
    connection = nil
  }
}

extension XMPPStream {
  /// The events as a sequence, until the stream ends. Several loops share them, as callers of ``next()`` do.
  public nonisolated var events: AsyncStream<StreamEvent> {
    AsyncStream { await self.next() }
  }
}
