import COpenSSL

extension JID {
  /// A file name for what belongs to the account: of the bare JID, at most 200 octets.
  ///
  /// Two accounts have two names, also where a file system ignores case. A name is made of `a-z 0-9 @ . _ - %`,
  /// all else percent-encoded, and begins with neither `.` nor `-`; one that would be too long ends in `~` and
  /// the SHA-256 of its full form.
  public var fileName: String {
    var name = ""
    for byte in bare.description.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "@"),
        UInt8(ascii: "_"):
        name.unicodeScalars.append(Unicode.Scalar(byte))
      case UInt8(ascii: "."), UInt8(ascii: "-"):
        name += name.isEmpty ? "%" + byte.hexadecimal : String(Unicode.Scalar(byte))
      default: name += "%" + byte.hexadecimal
      }
    }
    guard name.utf8.count > 200 else { return name }
    return "\(name.prefix(128))~\(Self.sha256(name))"
  }

  private static func sha256(_ text: String) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = SHA256(Array(text.utf8), text.utf8.count, &digest)
    return digest.map(\.hexadecimal).joined()
  }
}

extension UInt8 {
  fileprivate var hexadecimal: String {
    (self < 16 ? "0" : "") + String(self, radix: 16)
  }
}
