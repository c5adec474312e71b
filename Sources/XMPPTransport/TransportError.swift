/// Why no connection could be made, or why it ended.
///
/// `message` is one line in English for a person to read. It holds no secrets, and what came from the peer is escaped
/// and of bounded length.
public struct TransportError: Error, Sendable {
  /// The kind of failure; other layers may add their own.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name service says that there is no such host.
    public static let unknownHost = Code(rawValue: "unknownHost")
    /// The name service gave no answer; trying later may help.
    public static let resolverFailed = Code(rawValue: "resolverFailed")
    /// The domain says that it has no XMPP service (SRV target ".", RFC 2782).
    public static let serviceUnavailable = Code(rawValue: "serviceUnavailable")
    public static let connectionRefused = Code(rawValue: "connectionRefused")
    public static let connectionReset = Code(rawValue: "connectionReset")
    public static let unreachable = Code(rawValue: "unreachable")
    public static let timedOut = Code(rawValue: "timedOut")
    /// Any other failure to connect.
    public static let connectionFailed = Code(rawValue: "connectionFailed")
    /// The proxy cannot be reached, or does not connect.
    public static let proxyFailed = Code(rawValue: "proxyFailed")
    /// The server's certificate is not trusted, not valid now, or not for the domain.
    public static let certificateRejected = Code(rawValue: "certificateRejected")
    /// The TLS handshake failed, or a record was damaged.
    public static let tlsFailed = Code(rawValue: "tlsFailed")
    /// The connection ended during the TLS handshake, or TLS was used after its end.
    public static let tlsClosed = Code(rawValue: "tlsClosed")
    /// The TLS settings cannot be used, for example because the CA file cannot be read.
    public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
    /// The task that waited was cancelled.
    public static let cancelled = Code(rawValue: "cancelled")
  }

  public var code: Code
  public var message: String
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

extension TransportError: CustomStringConvertible {
  public var description: String { message }
}
