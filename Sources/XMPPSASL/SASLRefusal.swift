import FoundationEssentials

/// A server's reason for refusing a token (RFC 7628 §3.2.2).
public struct SASLRefusal: Hashable, Sendable {
  /// For example `invalid_token`, `insufficient_scope`, `expired_token`; `other` for a status that is not such a name.
  public let status: String
  /// The scopes that the token would need, separated by spaces.
  public let scope: String?
  /// The URL of the authorization service's configuration: text of the server, to be validated before use.
  public let openIDConfiguration: String?

  /// The maximum size of a refusal in bytes.
  static let limit = 8192

  private struct Fields: Decodable {
    var status: String
    var scope: String?
    var configuration: String?

    enum CodingKeys: String, CodingKey {
      case status, scope
      case configuration = "openid-configuration"
    }
  }

  /// Throws `tooLarge` or `malformed`.
  init(json: [UInt8]) throws(SASLError) {
    guard json.count <= Self.limit else {
      throw SASLError(.tooLarge, "the server's message is longer than \(Self.limit) bytes")
    }
    guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(json)) else {
      throw SASLError(.malformed, "the server's refusal of the token is not what RFC 7628 says")
    }
    status = Self.isName(fields.status) ? fields.status : "other"
    scope = fields.scope.flatMap { Self.isPrintable($0) ? $0 : nil }
    openIDConfiguration = fields.configuration.flatMap { Self.isPrintable($0) ? $0 : nil }
  }

  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
      }
  }

  private static func isPrintable(_ text: String) -> Bool {
    (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}
