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
  /// Decides what follows when an attempt has failed or a session has ended; by default ``ConnectionVerdict`` does. Its
  /// task is cancelled where the attempt is given up meanwhile.
  public var verdict: @Sendable (ConnectionEnd) async -> ConnectionVerdict = {
    ConnectionVerdict(after: $0.error, wasOnline: $0.wasOnline)
  }
  /// A session is in use as soon as its handler has returned. False: as soon as the program accepts it
  /// (``XMPPClient/accept(_:)``), which may refuse it, too. Until then its end is that of an attempt.
  public var acceptsSessions = true
  /// What is sent before a session is closed: that the client is not available any more (RFC 6121 §4.5).
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

  /// All streams have the same configuration.
  public init(_ configuration: StreamConfiguration, handlers: StanzaHandlers = StanzaHandlers()) {
    self.init(handlers: handlers) { () throws(XMPPError) in configuration }
  }
}

/// Why a client has no session, or no new one.
public struct ConnectionEnd: Sendable {
  public var error: XMPPError
  /// A session that was in use has ended; else an attempt has failed.
  public var wasInUse: Bool
  /// A session of this client was bound since the program has connected it.
  public var wasOnline: Bool
}

/// What happens to a client.
public enum ClientEvent: Sendable {
  /// An attempt has come to a step.
  indirect case step(LoginStep)
  /// A session is bound. It is handed to ``StanzaHandlers/onSession(_:)`` next.
  case bound(BoundSession)
  /// Something of a session that no handler takes: acknowledgements, which may come behind its end, stanzas that were left
  /// out, late answers, and the stanzas of a kind for which there is no handler at all.
  /// Messages, or requests, that have come together are told together; everything else is told by itself.
  indirect case other([StreamEvent], BoundSession)
  /// A session has ended; without an error where this side has closed it. The cure is known where the next session does not
  /// end for the same reason.
  indirect case lost(BoundSession, XMPPError?, cure: StreamSuccession.Remedy?)
  /// Nothing comes any more of a session whose place another one has taken.
  case replaced(BoundSession)
  /// An attempt has failed, and the client tries again at once in another way.
  case retrying(StreamSuccession.Remedy)
  /// An attempt has failed.
  case failed(XMPPError)
  /// The next attempt is made after so many seconds, or when the network changes, where that may help.
  case waiting(seconds: Double, mayHurry: Bool)
  /// A handler has thrown this error.
  case handlerFailed(any Error)
  /// The client stays offline; nil: because the program has disconnected it.
  case offline(XMPPError?)
}
