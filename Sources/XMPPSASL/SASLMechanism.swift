/// A single authentication, from its first message to the server's proof (RFC 4422 §3).
///
/// A pure value without input and output: the stream transports its messages. All bytes are those of the mechanism,
/// without the base64 of the XMPP profile. After an error the value accepts no further calls.
public protocol SASLMechanism: Sendable {
  var name: SASLMechanismName { get }

  /// The message in `<auth/>`, nil where the mechanism has none. Called once, first.
  mutating func initialResponse() throws(SASLError) -> [UInt8]?

  /// Tells the server's current offer before the first challenge, if the mechanism was chosen by an earlier one.
  mutating func offered(_ offer: SASLOffer)

  /// Whether the first message contradicts the current offer, so that a refusal may have no other reason.
  var contradictsOffer: Bool { get }

  /// The answer to a challenge.
  mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep

  /// The answer to the challenge that asked for a derivation (``SASLStep/derive(_:)``).
  mutating func derived(_ keys: SCRAMKeys) throws(SASLError) -> SASLStep

  /// Handles the server's success; throws unless the server has proved its identity where the mechanism demands it.
  mutating func success(_ additionalData: [UInt8]?) throws(SASLError)

  /// The reason that the server has given before its failure, if any.
  var refusal: SASLRefusal? { get }

  /// After success, the keys that were used; the next login with them needs neither password nor derivation.
  var scramKeys: SCRAMKeys? { get }
}

extension SASLMechanism {
  /// Used only by SCRAM (XEP-0474).
  public mutating func offered(_ offer: SASLOffer) {}

  /// Used only by SCRAM (RFC 5802 §6).
  public var contradictsOffer: Bool { false }

  /// Used only by SCRAM.
  public mutating func derived(_ keys: SCRAMKeys) throws(SASLError) -> SASLStep {
    throw SASLError(.misuse, "\(name) derives no keys")
  }

  /// Used only by OAUTHBEARER.
  public var refusal: SASLRefusal? { nil }

  /// Used only by SCRAM.
  public var scramKeys: SCRAMKeys? { nil }
}

/// The next action of the stream for a mechanism.
public enum SASLStep: Hashable, Sendable {
  /// Send this, possibly empty, as `<response/>`.
  case respond([UInt8])
  /// Run ``SCRAMKeyRequest/derive()`` outside the event loop, then call ``SASLMechanism/derived(_:)``.
  case derive(SCRAMKeyRequest)
}

extension SASLStep: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of step and the size of its data, without the data.
  public var description: String {
    switch self {
    case .respond(let data): "respond(\(data.count) bytes)"
    case .derive(let request): "derive(\(request))"
    }
  }

  public var debugDescription: String { description }

  public var customMirror: Mirror { Mirror(self, children: []) }
}
