/// The registered name of a channel binding (RFC 5056 §7).
public struct ChannelBindingType: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The name; `?` for a name that violates the grammar, so that the description is safe on a terminal.
  public var description: String { isWellFormed ? rawValue : "?" }

  private var isWellFormed: Bool {
    (1...32).contains(rawValue.utf8.count)
      && rawValue.utf8.allSatisfy {
        $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
      }
  }

  /// RFC 9266, TLS 1.3.
  public static let tlsExporter = Self(rawValue: "tls-exporter")
  /// RFC 5929 §3, TLS 1.2 and before.
  public static let tlsUnique = Self(rawValue: "tls-unique")
  /// RFC 5929 §4, the server's certificate.
  public static let tlsServerEndPoint = Self(rawValue: "tls-server-end-point")

  /// The types that this library supports, strongest first.
  static let supported: [Self] = [.tlsExporter, .tlsUnique, .tlsServerEndPoint]
}
