/// Why a string is not a JID (RFC 7622).
public struct JIDError: Error, Hashable, Sendable, CustomStringConvertible {
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let noDomain = Code(rawValue: "noDomain")
    public static let emptyLocal = Code(rawValue: "emptyLocal")
    public static let emptyResource = Code(rawValue: "emptyResource")
    public static let invalidLocal = Code(rawValue: "invalidLocal")
    public static let invalidDomain = Code(rawValue: "invalidDomain")
    public static let invalidResource = Code(rawValue: "invalidResource")
    public static let localTooLong = Code(rawValue: "localTooLong")
    public static let domainTooLong = Code(rawValue: "domainTooLong")
    public static let resourceTooLong = Code(rawValue: "resourceTooLong")
  }

  public let code: Code
  /// What is wrong, for a user; contains no character of a string that may come from a peer other than ASCII.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
