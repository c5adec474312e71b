import XMPPSASL
import XMPPStanza
import XMPPTransport

/// A step of a login, in the order in which logins pass them.
public enum LoginStep: Sendable, Equatable {
  /// The stream is connecting to a server; reported for every target that is tried.
  case linking(ServerTarget)
  /// The stream is encrypted and its features have arrived; no secret was sent yet.
  case linkOK(tls: TLSInfo?, offer: AuthenticationOffer)
  /// `<auth/>` was sent.
  case logining(SASLMechanismName)
  /// A resource is bound.
  case loginOK(BoundStream)
}

/// The result of a completed negotiation.
public struct BoundStream: Sendable, Equatable {
  /// The full JID that the server has bound, which may differ from the requested one (RFC 6120 §7.7.1).
  public var jid: JID
  /// The server of the stream.
  public var target: ServerTarget
  public var tls: TLSInfo?
  public var mechanism: SASLMechanismName
  /// The features after authentication; empty where they come after an inline bind (XEP-0386).
  public var features: StreamFeatures
  /// The round trips from the TCP connect to this point.
  public var roundTrips: Int
  /// The token that the server has issued with this login, replacing any earlier one (XEP-0484).
  public var fastToken: FASTToken?
  /// Whether a stored token was refused and another credential accepted.
  public var isTokenRefused = false
  /// Whether the login used SASL2 (XEP-0388), which can carry a login extension.
  public var usesSASL2 = false
  /// Whether the session of the previous stream was resumed (XEP-0198 §5), with its presence and subscriptions.
  public var isResumed = false
  /// The stanzas of the previous stream that are left to the consumer. After a resumption the server lacks them: those
  /// known only from a snapshot, and messages without ``StreamConfiguration/resendsMessages``. Otherwise they may or
  /// may not have arrived.
  public var unacknowledged: [SentStanza] = []
  /// The keys of this login, with which the next one needs no derivation.
  public var scramKeys: SCRAMKeys?

  public init(
    jid: JID, target: ServerTarget, tls: TLSInfo? = nil, mechanism: SASLMechanismName,
    features: StreamFeatures,
    roundTrips: Int = 0
  ) {
    self.jid = jid
    self.target = target
    self.tls = tls
    self.mechanism = mechanism
    self.features = features
    self.roundTrips = roundTrips
  }
}
