import FoundationEssentials

/// JSON Web Tokens (RFC 7519) that the test servers' key has signed.
public enum JSONWebToken {
  /// A claim's value.
  public enum Claim: Encodable, Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral
  {
    case text(String)
    case number(Int)

    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int) { self = .number(value) }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .number(let number): try container.encode(number)
      }
    }
  }

  /// A token signed by HMAC with SHA-256 and `key`, base64url without padding.
  public static func signed(_ claims: [String: Claim], key: String = TestServer.jwtKey) async throws -> String
  {
    let header = encoded(Data(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
    let text = header + "." + encoded(try JSONEncoder().encode(claims))
    var padded = key.replacing("-", with: "+").replacing("_", with: "/")
    while padded.utf8.count % 4 != 0 { padded += "=" }
    guard let secret = Data(base64Encoded: padded) else { throw TestSupportError("\(key) is not base64url") }
    let hex = secret.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let openssl = try await ChildProcess(
      "/usr/bin/openssl", ["dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:\(hex)", "-hex", "-r"])
    openssl.write(text)
    openssl.closeInput()
    guard try await openssl.ended() == .exited(0) else { throw TestSupportError(openssl.errors.text) }
    var signature = Data()
    var digits = openssl.output.text.prefix { $0.isHexDigit }
    while let byte = UInt8(digits.prefix(2), radix: 16) {
      signature.append(byte)
      digits = digits.dropFirst(2)
    }
    return text + "." + encoded(signature)
  }

  /// Base64url without padding (RFC 7515 section 2).
  public static func encoded(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
