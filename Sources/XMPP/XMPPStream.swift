import NIOCore
import NIOPosix
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// An event of a stream. Events are reported in order.
public enum StreamEvent: Sendable {
  // Indirect, because every waiter reserves memory for the largest event.
  indirect case step(LoginStep)
  case message(Message)
  case presence(Presence)
  /// A request of type set that its responder has accepted and answered, such as a roster push (RFC 6121 §2.1.6); or
  /// one of ``StreamConfiguration/requestsForProgram``, which was not answered.
  case request(IQ)
  /// An IQ of type result or error for which no ``XMPPStream/request(_:timeout:)`` waits: the answer to a request sent
  /// with ``XMPPStream/send(_:)``, or a late one. Any entity may send such an IQ: it answers the request with its `id`
  /// only if its `from` is the entity that was asked (RFC 6120 §8.2.3).
  case answer(IQ)
  /// All input before the call of ``XMPPStream/mark(_:)`` was reported.
  case marked(String)
  /// A stanza that exceeds ``StreamConfiguration/limits``, and how. Only its start tag and that of the child with the
  /// excess are left. It counts as handled.
  case leftOut(XMLElement, String, octets: Int)
  /// The server has these stanzas, oldest first (XEP-0198 §4). A program that takes no events gets the last 10,000 of
  /// them.
  case acknowledged([SentStanza])
  /// With ``StreamConfiguration/confirmsStanzas``: the events so far cover the stanzas up to this number. The program
  /// calls ``XMPPStream/confirm(through:)`` when it has handled them.
  case received(through: UInt32)
  /// The last event; the error is nil if this side closed the stream and the server agreed (RFC 6120 §4.4).
  case closed(XMPPError?)

  /// The approximate octets of memory of the peer's data.
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
/// The actor runs on its channel's event loop, without thread hops between a byte and its stanza. ``connect()`` returns
/// when a resource is bound; stanzas and the end of the stream come from ``next()`` or ``events``. If no consumer takes
/// the events, the stream stops reading from the network instead of storing them; acknowledgements do not count, so
/// that a program may send without taking events. A stream without references is closed.
///
///     let stream = XMPPStream(.init(account: try JID("alice@example.org"), credentials: credentials))
///     let bound = try await stream.connect()
///     try await stream.send([Presence(show: .away, status: "lunch").element])
///     await stream.close()
public actor XMPPStream {
  enum State {
    case idle
    case connecting
    /// Encrypted and not to be logged in; requests to the server are possible.
    case beforeLogin
    case online(BoundStream)
    /// `</stream:stream>` was sent.
    case closing
    /// The server has ended the stream but not the connection, whose end is awaited before the error is reported.
    case ended(XMPPError)
    case closed

    var isOpen: Bool {
      switch self {
      case .beforeLogin, .online: true
      case .idle, .connecting, .closing, .ended, .closed: false
      }
    }
  }

  /// The result of a negotiation, by its purpose.
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
  /// The stream's connection, or that of the contender for which the stream acts.
  var connection: StreamConnection?
  var establishment: StreamEstablishment
  /// The time limit for connecting, and later for closing.
  var deadline: Scheduled<Void>?
  var closers: [CheckedContinuation<Void, Never>] = []
  var requests = IQTracker<(Result<IQ, XMPPError>) -> Void>()
  var inbox = StreamInbox()
  /// The data with which the next stream resumes this session (``StreamConfiguration/resuming``), available after the
  /// end, too; nil where it is not managed. A stream that did not bind leaves the session that it was to resume.
  public internal(set) var management: StreamManagement?
  var reception = StreamReception()
  var probes = AcknowledgementProbes()
  var silence = StreamSilence()
  /// The current features of the server; nil until they arrive, which may be after an inline bind (XEP-0386).
  public internal(set) var features: StreamFeatures?

  public init(_ configuration: StreamConfiguration, on eventLoop: (any EventLoop)? = nil) {
    self.configuration = configuration
    establishment = StreamEstablishment(beforeBinding: configuration.beforeBinding)
    self.eventLoop = eventLoop ?? MultiThreadedEventLoopGroup.singleton.next()
  }

  // MARK: Events

  /// The next event; nil after `closed`, and when the calling task is cancelled.
  ///
  /// Several callers share the events: each event goes to the caller that has waited longest.
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

  /// The next events that can be handled together: a message and the available messages after it, or a request
  /// (``StreamEvent/request(_:)``) and the available requests after it; otherwise a single event. Nil in the cases of
  /// ``next()``.
  public func nextEvents(_ maximum: Int) async -> [StreamEvent]? {
    guard let first = await next() else { return nil }
    var events = [first]
    while events.count < maximum, let event = inbox.popFirst(like: first) { events.append(event) }
    if events.count > 1 { updateReading() }
    return events
  }

  /// Reports ``StreamEvent/marked(_:)`` after all input so far.
  public func mark(_ name: String) { report(.marked(name)) }

  func report(_ event: StreamEvent) {
    inbox.put(event)
    updateReading()
  }

  /// Pauses reading from a peer that does not read the answers to its requests.
  func writabilityChanged(to isWritable: Bool) {
    connection?.isWritable = isWritable
    updateReading()
  }

  /// Reads while consumer and peer keep up, and always while the stream is being closed.
  ///
  /// A consumer that waits for an answer or acknowledgement takes no events, so reading continues for it up to a limit.
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

  /// Whether stanzas can be sent; false from the stream's end on, even before that event is read.
  public var isOpen: Bool { state.isOpen }

  var channel: (any Channel)? { connection?.channel }

  /// The local addresses of the stream's connections: empty before there is one, several while targets compete.
  public var localAddresses: Set<String> {
    let channels = [channel].compactMap(\.self) + (establishment.race?.channels ?? [])
    return Set(channels.compactMap { $0.localAddress?.ipAddress })
  }

  /// The time since the last input from the server.
  public var idleTime: TimeAmount { .now() - silence.lastInput }

  /// Ends a stream whose server does not answer; `error` is reported in the `closed` event.
  ///
  /// The connection is reset: written data that has not arrived is lost, and a resumable session is not closed.
  public func abort(_ error: XMPPError) {
    guard state.isOpen else { return }
    reset(error)
  }

  /// Ends the stream: `stanzas`, `</stream:stream>`, and the server's own within `patience` (RFC 6120 §4.4).
  ///
  /// While connecting, this cancels. Never fails; stanzas that cannot be sent are dropped.
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

  /// The only way into the state `closed`; releases all waiters.
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

  /// Ends by resetting the connection, so that data still buffered for an unresponsive peer does not arrive after
  /// another connection has resumed the session. A late `<resume/>` would take the session from it.
  func reset(_ error: XMPPError) {
    connection?.isOutputOpen = false
    establishment.race?.silence()
    for channel in [channel].compactMap(\.self) + (establishment.race?.channels ?? []) {
      _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
    finish(error)
  }

  /// Closes the stream and then the connection, as both sides must (RFC 6120 §4.4).
  func hangUp() {
    endOutput()
    channel?.close(promise: nil)
    connection = nil
  }
}

extension XMPPStream {
  /// The events as a sequence until the stream ends. Several loops share them, like callers of ``next()``.
  public nonisolated var events: AsyncStream<StreamEvent> {
    AsyncStream { await self.next() }
  }
}
