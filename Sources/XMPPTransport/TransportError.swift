/// The reason why a connection could not be established, or why it ended.
///
/// The reason is one line for users, without secrets. Text from the peer in it is escaped and of bounded length.
public struct TransportError: Error, Sendable {
  /// The kind of failure; other layers may add codes.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name service reports that the host does not exist.
    public static let unknownHost = Code(rawValue: "unknownHost")
    /// The name service did not answer; trying later may help.
    public static let resolverFailed = Code(rawValue: "resolverFailed")
    /// The domain explicitly has no XMPP service (SRV target ".", RFC 2782).
    public static let serviceUnavailable = Code(rawValue: "serviceUnavailable")
    public static let connectionRefused = Code(rawValue: "connectionRefused")
    public static let connectionReset = Code(rawValue: "connectionReset")
    public static let unreachable = Code(rawValue: "unreachable")
    public static let timedOut = Code(rawValue: "timedOut")
    /// Any other failure to connect.
    public static let connectionFailed = Code(rawValue: "connectionFailed")
    /// The proxy cannot be reached, or did not connect to the target.
    public static let proxyFailed = Code(rawValue: "proxyFailed")
    /// The server's certificate is not trusted, not valid at this time, or not for the domain.
    public static let certificateRejected = Code(rawValue: "certificateRejected")
    /// The TLS handshake failed, or a record was damaged.
    public static let tlsFailed = Code(rawValue: "tlsFailed")
    /// The connection ended during the TLS handshake, or TLS was used after its end.
    public static let tlsClosed = Code(rawValue: "tlsClosed")
    /// The TLS settings are unusable, for example because the CA file cannot be read.
    public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
    /// The waiting task was cancelled.
    public static let cancelled = Code(rawValue: "cancelled")
  }

  public var code: Code
  public var reason: ErrorReason
  public var underlying: (any Error)?

  public init(_ code: Code, _ reason: ErrorReason, underlying: (any Error)? = nil) {
    self.code = code
    self.reason = reason
    self.underlying = underlying
  }

  /// An error with a text that is not one of ``Sentence``.
  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.init(code, ErrorReason(text: message), underlying: underlying)
  }

  /// The reason in English.
  public var message: String { reason.description }
}

extension ErrorReason {
  /// The reason for a sentence about a connection.
  static func says(
    _ sentence: TransportError.Sentence, _ arguments: any Sendable & CustomStringConvertible...
  ) -> ErrorReason {
    ErrorReason(sentence, of: arguments)
  }
}

extension TransportError: CustomStringConvertible {
  public var description: String { message }
}
