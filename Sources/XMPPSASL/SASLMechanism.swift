/// One authentication, from its first message to the server's proof (RFC 4422 §3).
///
/// A pure value: it neither reads nor writes, the stream carries its messages. All bytes are those of the
/// mechanism, without the base64 of the XMPP profile. After any error the value is at its end and refuses
/// everything.
public protocol SASLMechanism: Sendable {
  var name: SASLMechanismName { get }

  /// The message that goes with `<auth/>`, nil where the mechanism has none. Called once, first.
  mutating func initialResponse() throws(SASLError) -> [UInt8]?

  /// What the server really offers, told before the first challenge where the mechanism was chosen by what it
  /// offered last time.
  mutating func offered(_ offer: SASLOffer)

  /// Whether the first message says something of the server's offer that is not true of the one it was told last:
  /// a server that refuses it may refuse that alone.
  var contradictsOffer: Bool { get }

  /// The answer to a challenge.
  mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep

  /// The answer to the challenge that asked for a derivation (``SASLStep/derive(_:)``).
  mutating func derived(_ keys: SCRAMKeys) throws(SASLError) -> SASLStep

  /// Takes the server's success; throws unless the server has proved itself where the mechanism demands it.
  mutating func success(_ additionalData: [UInt8]?) throws(SASLError)

  /// Why the server will say failure, where it told the mechanism before.
  var refusal: SASLRefusal? { get }

  /// After success, the keys that have logged in: the next login with them needs neither password nor derivation.
  var scramKeys: SCRAMKeys? { get }
}

extension SASLMechanism {
  /// Only SCRAM looks at it (XEP-0474).
  public mutating func offered(_ offer: SASLOffer) {}

  /// Only SCRAM speaks of it (RFC 5802 §6).
  public var contradictsOffer: Bool { false }

  /// Only SCRAM derives.
  public mutating func derived(_ keys: SCRAMKeys) throws(SASLError) -> SASLStep {
    throw SASLError(.misuse, "\(name) derives no keys")
  }

  /// Only OAUTHBEARER hears of it.
  public var refusal: SASLRefusal? { nil }

  /// Only SCRAM has keys.
  public var scramKeys: SCRAMKeys? { nil }
}

/// What the stream does next for a mechanism.
public enum SASLStep: Hashable, Sendable {
  /// Send this, which may be empty, as `<response/>`.
  case respond([UInt8])
  /// Run ``SCRAMKeyRequest/derive()`` away from the event loop, then call ``SASLMechanism/derived(_:)``.
  case derive(SCRAMKeyRequest)
}

extension SASLStep: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of step and how much is to be sent, never what.
  public var description: String {
    switch self {
    case .respond(let data): "respond(\(data.count) bytes)"
    case .derive(let request): "derive(\(request))"
    }
  }

  public var debugDescription: String { description }

  public var customMirror: Mirror { Mirror(self, children: []) }
}
