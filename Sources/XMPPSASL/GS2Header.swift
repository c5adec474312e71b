/// The header with which SCRAM and OAUTHBEARER begin, such as `n,,` (RFC 5801 §4).
struct GS2Header: Hashable, Sendable, CustomStringConvertible {
  /// `n`, `y`, or `p=` and the type of the channel binding.
  let flag: String
  /// The authorization identity; nil for that of the login.
  let authzid: String?

  /// Throws `invalidUserName` for a name with a NUL.
  init(flag: String, authzid: String?) throws(SASLError) {
    self.flag = flag
    self.authzid = authzid.flatMap { $0.isEmpty ? nil : $0 }
    guard authzid?.utf8.contains(0) != true else {
      throw SASLError(.invalidUserName, "the name to act as holds a NUL")
    }
  }

  var description: String { "\(flag),\(authzid.map { "a=\(Self.escape($0))" } ?? "")," }

  /// Encodes a `saslname`, in which `,` and `=` are escaped (RFC 5802 §5.1).
  static func escape(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case ",": result += "=2C"
      case "=": result += "=3D"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}
