/// The steps that a client sends before the server's answers, to save round trips.
///
/// Nothing is ever sent after `<success/>` before it has arrived and is verified (RFC 6120 §6.4.6), and no request that
/// contains a secret is pipelined.
public struct Pipelining: Sendable, Equatable {
  /// Whether `<starttls/>` is sent with the stream header.
  public var startTLS: Bool
  /// The server's last offer, for which the authentication request is sent with the header inside TLS; nil to wait for
  /// the offer.
  public var offer: AuthenticationOffer?
  /// Whether the bind request is sent with the header after a verified `<success/>`.
  public var binding: Bool

  public init(startTLS: Bool = false, offer: AuthenticationOffer? = nil, binding: Bool = false) {
    self.startTLS = startTLS
    self.offer = offer
    self.binding = binding
  }

  /// Every request waits for the answer to the previous one.
  public static let stepByStep = Pipelining()

  /// The pipelining for an unknown server: only steps that need no guess about the account.
  public static let ofUnknownServer = Pipelining(startTLS: true, binding: true)
}
