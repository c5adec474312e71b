import COpenSSL

extension JID {
  /// A file name of at most 200 octets for the account's data, made from the bare JID.
  ///
  /// Two accounts have different names, even on a file system that ignores case. A name consists of `a-z 0-9 @ . _ -
  /// %`, with all other octets percent-encoded, and begins with neither `.` nor `-`. A name that would be too long ends
  /// in `~` and the SHA-256 of its full form.
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
