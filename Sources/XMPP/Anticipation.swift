import XMPPSASL

/// How far a client goes ahead of the server's answers, to spare round trips.
///
/// Nothing is ever sent past `<success/>` before it has arrived and is verified (RFC 6120 §6.4.6), and what
/// carries a secret is not sent ahead at all.
public struct Anticipation: Sendable, Equatable {
  /// `<starttls/>` goes out with the stream header.
  public var startTLS: Bool
  /// `<auth/>` with this mechanism goes out with the header inside TLS: the one this server took last time.
  public var mechanism: SASLMechanismName?
  /// The bind request goes out with the header behind a verified `<success/>`.
  public var binding: Bool

  /// PLAIN is never anticipated, since its first message is the password.
  public init(startTLS: Bool = false, mechanism: SASLMechanismName? = nil, binding: Bool = false) {
    self.startTLS = startTLS
    self.mechanism = mechanism == .plain ? nil : mechanism
    self.binding = binding
  }

  /// Every request waits for the answer to the one before.
  public static let stepByStep = Anticipation()
}
