/// The registered name of a SASL mechanism (RFC 4422 §3.1), for example `SCRAM-SHA-256`.
///
/// Unknown names are kept as received.
public struct SASLMechanismName: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// The name; `?` for a name that violates the grammar, so that the description is safe on a terminal.
  public var description: String { isWellFormed ? rawValue : "?" }

  /// Whether the name has 1 to 20 capital letters, digits, `-` and `_`.
  public var isWellFormed: Bool {
    (1...20).contains(rawValue.utf8.count)
      && rawValue.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
  }

  /// Whether the mechanism is SCRAM (RFC 5802), with any hash, with or without channel binding.
  public var isSCRAM: Bool { rawValue.hasPrefix("SCRAM-") }

  /// Whether the first message can be used for another login, because it contains the secret or is not bound to the
  /// connection.
  public var showsSecret: Bool {
    [.plain, .oauthBearer, .xOAuth2, .htSHA256None, .htSHA256EndPoint].contains(self)
  }

  /// Whether the mechanism binds to the TLS channel (RFC 5801 §5.1).
  public var bindsChannel: Bool { rawValue.hasSuffix("-PLUS") }
}

extension SASLMechanismName {
  public static let plain = Self("PLAIN")
  public static let scramSHA1 = Self("SCRAM-SHA-1")
  public static let scramSHA256 = Self("SCRAM-SHA-256")
  public static let scramSHA512 = Self("SCRAM-SHA-512")
  public static let scramSHA1Plus = Self("SCRAM-SHA-1-PLUS")
  public static let scramSHA256Plus = Self("SCRAM-SHA-256-PLUS")
  public static let scramSHA512Plus = Self("SCRAM-SHA-512-PLUS")
  public static let anonymous = Self("ANONYMOUS")
  public static let external = Self("EXTERNAL")
  public static let oauthBearer = Self("OAUTHBEARER")
  public static let xOAuth2 = Self("X-OAUTH2")
  public static let htSHA256Exporter = Self("HT-SHA-256-EXPR")
  public static let htSHA256Unique = Self("HT-SHA-256-UNIQ")
  public static let htSHA256EndPoint = Self("HT-SHA-256-ENDP")
  public static let htSHA256None = Self("HT-SHA-256-NONE")
}

extension UInt8 {
  var isASCIILetterOrDigit: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
