import XMPPSASL

/// The identity of a client in its login (XEP-0388 §2.3).
public struct UserAgent: Sendable, Hashable {
  /// A UUID (version 4) for this installation and account, the same at every login, and known only to the server.
  public var id: String
  /// The name of the program, for people.
  public var software: String?
  /// The name of the device, for people.
  public var device: String?

  /// The resource for servers that leave the choice to the client (RFC 6120 §7): the same at every login, without
  /// revealing the ID.
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
