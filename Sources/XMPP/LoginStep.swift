import XMPPSASL
import XMPPStanza
import XMPPTransport

/// A step of going online, in the order a login passes them.
public enum LoginStep: Sendable, Equatable {
  /// A server is being connected to; once for every target that is tried.
  case linking(ServerTarget)
  /// The stream is encrypted and its features have arrived; nothing secret was sent yet.
  case linkOK(tls: TLSInfo?, offer: AuthenticationOffer)
  /// `<auth/>` was sent.
  case logining(SASLMechanismName)
  /// A resource is bound.
  case loginOK(BoundStream)
}

/// What a completed negotiation has given.
public struct BoundStream: Sendable, Equatable {
  /// The full JID the server has bound, which need not be the wanted one (RFC 6120 §7.7.1).
  public var jid: JID
  /// Where the stream goes.
  public var target: ServerTarget
  public var tls: TLSInfo?
  public var mechanism: SASLMechanismName
  /// The features after authentication; empty where they come later, behind an inline bind (XEP-0386).
  public var features: StreamFeatures
  /// Round trips from TCP connect to this point.
  public var roundTrips: Int
  /// A token that the server has given with this login, in the place of any earlier one (XEP-0484).
  public var fastToken: FASTToken?
  /// A stored token was refused, and something else was accepted.
  public var isTokenRefused = false
  /// The login was made with SASL2 (XEP-0388), which has room for a login extension.
  public var usesSASL2 = false
  /// The session of the stream before goes on (XEP-0198 §5): presence and subscriptions are as they were.
  public var isResumed = false
  /// Stanzas of the stream before that are left to the consumer. Where it was resumed, the server says that it has not
  /// got them: what only a snapshot tells of, and messages without ``StreamConfiguration/resendsMessages``. Else they
  /// may have arrived or not.
  public var unacknowledged: [SentStanza] = []
  /// The keys of this login, which spare the next one the derivation.
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
