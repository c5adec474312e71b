/// The reason why the XML of a stream was refused. It ends the stream (RFC 6120 §4.9.1.1).
public struct XMLStreamError: Error, Sendable, Equatable {
  /// The kind of error, spelled like the corresponding stream error condition of RFC 6120 §4.9.3.
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not well-formed XML with namespaces.
    public static let notWellFormed = Code(rawValue: "not-well-formed")
    /// A comment, processing instruction, document type or entity (RFC 6120 §11.1).
    public static let restrictedXML = Code(rawValue: "restricted-xml")
    /// A prefix without a declaration.
    public static let badNamespacePrefix = Code(rawValue: "bad-namespace-prefix")
    /// Not UTF-8, or declared with another encoding (RFC 6120 §11.6).
    public static let unsupportedEncoding = Code(rawValue: "unsupported-encoding")
    /// Text between stanzas that is not white space.
    public static let badFormat = Code(rawValue: "bad-format")
    /// A limit of ``XMLStreamParser/Limits`` was exceeded.
    public static let limitExceeded = Code(rawValue: "policy-violation")
    /// The parser ran out of memory, or failed internally.
    public static let internalError = Code(rawValue: "internal-server-error")
    /// The parser was fed after the end of the stream or after an error.
    public static let finished = Code(rawValue: "finished")
  }

  public var code: Code
  /// A description for people, of at most some hundred bytes. Parts of it may come from the peer.
  public var message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
