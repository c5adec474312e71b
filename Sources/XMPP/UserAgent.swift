import XMPPSASL

/// Who a client says it is when it logs in (XEP-0388 §2.3).
public struct UserAgent: Sendable, Hashable {
  /// A UUID (version 4) of this installation and account, the same at every login. Nobody else learns it.
  public var id: String
  /// Name of the program, for people.
  public var software: String?
  /// Name of the device, for people.
  public var device: String?

  /// For servers that leave it to the client (RFC 6120 §7): the same at every login, and nothing of the id in it.
  var resource: String? {
    guard let hash = try? Digest.sha256.hash(Array("resource \(id)".utf8)) else { return nil }
    let name = Base64.encode(Array(hash.prefix(9))).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
    return (software.map { $0 + "." } ?? "") + String(name)
  }

  public init(id: String, software: String? = nil, device: String? = nil) {
    self.id = id
    self.software = software
    self.device = device
  }
}
