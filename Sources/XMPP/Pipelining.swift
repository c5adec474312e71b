/// How far a client goes ahead of the server's answers, to spare round trips.
///
/// Nothing is ever sent past `<success/>` before it has arrived and is verified (RFC 6120 §6.4.6), and what
/// carries a secret is not sent ahead at all.
public struct Pipelining: Sendable, Equatable {
  /// `<starttls/>` goes out with the stream header.
  public var startTLS: Bool
  /// The request to authenticate goes out with the header inside TLS, made for this offer: the server's last one.
  public var offer: AuthenticationOffer?
  /// The bind request goes out with the header behind a verified `<success/>`.
  public var binding: Bool

  public init(startTLS: Bool = false, offer: AuthenticationOffer? = nil, binding: Bool = false) {
    self.startTLS = startTLS
    self.offer = offer
    self.binding = binding
  }

  /// Every request waits for the answer to the one before.
  public static let stepByStep = Pipelining()

  /// For a server that nothing is known of: goes ahead where that needs no guess about the account.
  public static let ofUnknownServer = Pipelining(startTLS: true, binding: true)
}
