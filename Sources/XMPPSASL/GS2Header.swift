/// What SCRAM and OAUTHBEARER begin with: `n,,` and its relatives (RFC 5801 §4).
struct GS2Header: Hashable, Sendable, CustomStringConvertible {
  /// `n`, `y`, or `p=` and the type that the authentication is bound to.
  let flag: String
  /// The identity to act as, nil for the one that logs in.
  let authzid: String?

  /// Throws `invalidUserName` for a NUL.
  init(flag: String, authzid: String?) throws(SASLError) {
    self.flag = flag
    self.authzid = authzid.flatMap { $0.isEmpty ? nil : $0 }
    guard authzid?.utf8.contains(0) != true else {
      throw SASLError(.invalidUserName, "the name to act as holds a NUL")
    }
  }

  var description: String { "\(flag),\(authzid.map { "a=\(Self.escape($0))" } ?? "")," }

  /// `saslname`: `,` and `=` have a meaning of their own (RFC 5802 §5.1).
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
