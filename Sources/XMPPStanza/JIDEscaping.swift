/// Escapes characters that a local part excludes (XEP-0106): `user@mail.example` becomes `user\40mail.example` before
/// the `@` of a JID.
public enum JIDEscaping {
  /// The characters that a local part excludes (RFC 7622 §3.3.1), and the space.
  private static let codes: [Unicode.Scalar: String] = [
    " ": "20", "\"": "22", "&": "26", "'": "27", "/": "2f", ":": "3a", "<": "3c", ">": "3e", "@": "40",
    "\\": "5c",
  ]
  private static let scalars = Dictionary(uniqueKeysWithValues: codes.map { ($0.value, $0.key) })

  /// The text as a local part. A backslash is escaped only where it would otherwise begin an escape (§4.2).
  ///
  /// Throws `invalidLocal` if the text begins or ends with a space, which has no escape.
  public static func escape(_ text: String) throws(JIDError) -> String {
    let all = Array(text.unicodeScalars)
    guard all.first != " ", all.last != " " else {
      throw JIDError(.invalidLocal, "local part begins or ends with a space", .spaceAtEnd)
    }
    var escaped = String.UnicodeScalarView()
    for (index, scalar) in all.enumerated() {
      if let code = codes[scalar], scalar != "\\" || self.scalar(in: all, after: index) != nil {
        escaped.append("\\")
        escaped.append(contentsOf: code.unicodeScalars)
      } else {
        escaped.append(scalar)
      }
    }
    return String(escaped)
  }

  /// The text that a local part represents, for display only: it must not be compared or sent (§4.3).
  public static func unescape(_ local: String) -> String {
    let all = Array(local.unicodeScalars)
    var text = String.UnicodeScalarView()
    var index = 0
    while index < all.count {
      if all[index] == "\\", let scalar = scalar(in: all, after: index),
        scalar != " " || (index > 0 && index + 3 < all.count)
      {
        text.append(scalar)
        index += 3
      } else {
        text.append(all[index])
        index += 1
      }
    }
    return String(text)
  }

  /// The character that the two digits after `index` represent; nil if there is none.
  private static func scalar(in all: [Unicode.Scalar], after index: Int) -> Unicode.Scalar? {
    guard index + 2 < all.count else { return nil }
    var code = String.UnicodeScalarView()
    code.append(contentsOf: all[(index + 1)...(index + 2)])
    return scalars[String(code)]
  }
}
