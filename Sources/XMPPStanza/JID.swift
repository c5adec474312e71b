/// The address of an entity: `local@domain/resource` (RFC 7622).
///
/// The initializers enforce the rules, so that two JIDs are equal if and only if they are the same address: the local
/// part by the PRECIS profile UsernameCaseMapped, the domain by IDNA2008 in U-labels, the resource by the profile
/// OpaqueString. Each part has 1 to 1023 octets.
public struct JID: Hashable, Sendable {
  /// The account at the domain; nil for a server.
  public let local: String?
  /// The domain in U-labels, or an IPv6 address in brackets; never empty.
  public let domain: String
  /// The device of the account, or the occupant of a room; nil in a bare JID.
  public let resource: String?

  /// Parses a JID and enforces RFC 7622.
  public init(_ string: String) throws(JIDError) {
    var string = string
    string.makeContiguousUTF8()
    let slash = string.utf8.firstIndex(of: UInt8(ascii: "/"))
    let address = string[..<(slash ?? string.endIndex)]
    let at = address.utf8.firstIndex(of: UInt8(ascii: "@"))
    try self.init(
      local: at.map { string[..<$0] },
      domain: at.map { address[string.utf8.index(after: $0)...] } ?? address,
      resource: slash.map { string[string.utf8.index(after: $0)...] })
  }

  /// Creates a JID from its parts and enforces RFC 7622 on each.
  public init(local: String? = nil, domain: String, resource: String? = nil) throws(JIDError) {
    try self.init(local: local.map { $0[...] }, domain: domain[...], resource: resource.map { $0[...] })
  }

  private init(local: Substring?, domain: Substring, resource: Substring?) throws(JIDError) {
    guard !domain.isEmpty else { throw JIDError(.noDomain, "no domain", .noDomain) }
    self.domain = try DomainPart.enforce(domain)
    self.local = if let local { try LocalPart.enforce(local) } else { nil }
    self.resource = if let resource { try ResourcePart.enforce(resource) } else { nil }
  }

  private init(enforcedLocal local: String?, domain: String, resource: String?) {
    self.local = local
    self.domain = domain
    self.resource = resource
  }

  /// The JID without its resource.
  public var bare: JID { JID(enforcedLocal: local, domain: domain, resource: nil) }

  public var isBare: Bool { resource == nil }

  /// The JID with another resource, on which RFC 7622 is enforced.
  public func with(resource: String) throws(JIDError) -> JID {
    JID(enforcedLocal: local, domain: domain, resource: try ResourcePart.enforce(resource[...]))
  }

  /// The domain in A-labels, as DNS, TLS and certificates use it.
  public var asciiDomain: String { DomainPart.ascii(domain) }
}

extension JID: CustomStringConvertible {
  public var description: String {
    var description = domain
    if let local { description = "\(local)@\(description)" }
    if let resource { description += "/\(resource)" }
    return description
  }
}

extension JID: Comparable {
  /// Orders by domain, then local part, then resource; missing parts come first.
  public static func < (left: JID, right: JID) -> Bool {
    (left.domain, left.local ?? "", left.resource ?? "") < (
      right.domain, right.local ?? "", right.resource ?? ""
    )
  }
}

extension JID: Codable {
  /// Decodes the string form and enforces RFC 7622.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    do {
      self = try JID(try container.decode(String.self))
    } catch let error as JIDError {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: error.message)
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension JID {
  /// The maximum length of each part after enforcement, in octets (RFC 7622 §3.1).
  static let maximumPartLength = 1023
  /// The maximum length of a part before enforcement, in octets. Enforcement can shorten a full-width letter by a
  /// third, and a decomposed letter by less than four fifths. Longer parts are rejected at once.
  static let maximumRawLength = 4 * maximumPartLength

  static func checkLength(
    _ part: Substring, atMost limit: Int, _ code: JIDError.Code, _ name: JIDError.Part
  ) throws(JIDError) {
    guard part.utf8.count <= limit else {
      throw JIDError(
        code, "\(name.rawValue) is longer than \(maximumPartLength) octets", .tooLong, of: name,
        ["\(maximumPartLength)"])
    }
  }
}
