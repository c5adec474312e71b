import XMPP
import XMPPStanza
import XMPPXML

/// The configuration of a client: how to configure each stream, the handlers of stanzas, and the reaction to failures.
public struct ClientConfiguration: Sendable {
  /// Returns the configuration of the next stream. Called before each attempt, so that a secret need not be kept.
  public var stream: @Sendable () async throws(XMPPError) -> StreamConfiguration
  public var handlers: StanzaHandlers
  /// Called with every event, in order. The client handles no other event until this returns.
  public var onEvent: @Sendable (ClientEvent) async -> Void = { _ in }
  /// Decides what follows after a failed attempt or the end of a session; by default ``ConnectionVerdict`` does. The
  /// task is cancelled if the attempt is given up meanwhile.
  public var verdict: @Sendable (ConnectionEnd) async -> ConnectionVerdict = {
    ConnectionVerdict(after: $0.error, wasOnline: $0.wasOnline)
  }
  /// Whether a session is in use as soon as its handler has returned. Otherwise it is in use when the program accepts
  /// it (``XMPPClient/accept(_:)``); the program may also refuse it. Until then, its end counts as a failed attempt.
  public var acceptsSessions = true
  /// Returns the stanzas to send before a session is closed; by default unavailable presence (RFC 6121 §4.5).
  public var farewell: @Sendable () async -> [XMLElement] = { [Presence(type: .unavailable).element] }
  public var policy = ReconnectPolicy()
  public var clock = ConnectionClock()

  public init(
    handlers: StanzaHandlers = StanzaHandlers(),
    stream: @escaping @Sendable () async throws(XMPPError) -> StreamConfiguration
  ) {
    self.handlers = handlers
    self.stream = stream
  }

  /// Uses the same configuration for all streams.
  public init(_ configuration: StreamConfiguration, handlers: StanzaHandlers = StanzaHandlers()) {
    self.init(handlers: handlers) { () throws(XMPPError) in configuration }
  }
}

/// The reason why a client has no session, or no new one.
public struct ConnectionEnd: Sendable {
  public var error: XMPPError
  /// Whether a session that was in use has ended; otherwise an attempt has failed.
  public var wasInUse: Bool
  /// Whether a session was bound since the program has connected the client.
  public var wasOnline: Bool
}

/// An event of a client.
public enum ClientEvent: Sendable {
  /// An attempt has reached a step.
  indirect case step(LoginStep)
  /// A session is bound. It is passed to ``StanzaHandlers/onSession(_:)`` next.
  case bound(BoundSession)
  /// Events of a session without a handler: acknowledgements, which may come after the session's end, omitted stanzas,
  /// late answers, and stanzas of a kind that has no handler at all.
  /// Messages or requests that arrived together are reported together; other events come one by one.
  indirect case other([StreamEvent], BoundSession)
  /// A session has ended; without an error where this side has closed it. `cure` is set if the next session does not
  /// end for the same reason.
  indirect case lost(BoundSession, XMPPError?, cure: StreamSuccession.Remedy?)
  /// No more events come from a session that another one has replaced.
  case replaced(BoundSession)
  /// An attempt has failed, and the client retries at once in another way.
  case retrying(StreamSuccession.Remedy)
  /// An attempt has failed.
  case failed(XMPPError)
  /// The next attempt follows after this number of seconds, or when the network changes if `mayHurry` is true.
  case waiting(seconds: Double, mayHurry: Bool)
  /// A handler has thrown this error.
  case handlerFailed(any Error)
  /// The client stays offline; the error is nil if the program has disconnected it.
  case offline(XMPPError?)
}
