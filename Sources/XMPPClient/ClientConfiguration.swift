import XMPP
import XMPPStanza
import XMPPXML

/// What a client needs to know: how each of its streams is configured, who handles what comes, and what follows on a
/// failure.
public struct ClientConfiguration: Sendable {
  /// Gives the configuration of the next stream; asked before each attempt, so that a secret need not be kept.
  public var stream: @Sendable () async throws(XMPPError) -> StreamConfiguration
  public var handlers: StanzaHandlers
  /// Told of everything that happens, in order. The client handles no other event meanwhile.
  public var onEvent: @Sendable (ClientEvent) async -> Void = { _ in }
  /// Decides what follows when an attempt has failed or a session has ended; by default ``ConnectionVerdict`` does.
  public var verdict: @Sendable (_ after: XMPPError, _ wasOnline: Bool) async -> ConnectionVerdict = {
    ConnectionVerdict(after: $0, wasOnline: $1)
  }
  /// What is sent before a session is closed: that the client is not available any more (RFC 6121 §4.5).
  public var farewell: @Sendable () -> [XMLElement] = { [Presence(type: .unavailable).element] }
  public var policy = ReconnectPolicy()
  public var clock = ConnectionClock()

  public init(
    handlers: StanzaHandlers = StanzaHandlers(),
    stream: @escaping @Sendable () async throws(XMPPError) -> StreamConfiguration
  ) {
    self.handlers = handlers
    self.stream = stream
  }

  /// All streams have the same configuration.
  public init(_ configuration: StreamConfiguration, handlers: StanzaHandlers = StanzaHandlers()) {
    self.init(handlers: handlers) { () throws(XMPPError) in configuration }
  }
}

/// What happens to a client.
public enum ClientEvent: Sendable {
  /// An attempt has come to a step.
  indirect case step(LoginStep)
  /// A session is bound. It is handed to ``StanzaHandlers/onSession(_:)`` next.
  case bound(BoundSession)
  /// Something of a session that no handler takes: acknowledgements, stanzas that were left out, late answers.
  indirect case other(StreamEvent, BoundSession)
  /// A session has ended; nil: this side has closed it.
  case lost(BoundSession, XMPPError?)
  /// An attempt has failed, and the client tries again at once in another way.
  case retrying(StreamSuccession.Remedy)
  /// An attempt has failed.
  case failed(XMPPError)
  /// The next attempt is made after so many seconds.
  case waiting(seconds: Double)
  /// A handler has thrown this error.
  case handlerFailed(any Error)
  /// The client stays offline; nil: because the program has disconnected it.
  case offline(XMPPError?)
}
