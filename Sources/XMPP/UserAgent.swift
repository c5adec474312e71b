/// Who a client says it is when it logs in (XEP-0388 §2.3).
public struct UserAgent: Sendable, Hashable {
  /// A UUID (version 4) of this installation and account, the same at every login. Nobody else learns it.
  public var id: String
  /// Name of the program, for people.
  public var software: String?
  /// Name of the device, for people.
  public var device: String?

  public init(id: String, software: String? = nil, device: String? = nil) {
    self.id = id
    self.software = software
    self.device = device
  }
}
