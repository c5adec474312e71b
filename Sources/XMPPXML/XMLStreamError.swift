/// Why a stream's XML was refused. The stream cannot go on (RFC 6120 §4.9.1.1).
public struct XMLStreamError: Error, Sendable, Equatable {
  /// What was wrong, spelled as the stream error condition that RFC 6120 §4.9.3 has for it.
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not XML, or not XML with namespaces.
    public static let notWellFormed = Code(rawValue: "not-well-formed")
    /// A comment, processing instruction, document type or entity (RFC 6120 §11.1).
    public static let restrictedXML = Code(rawValue: "restricted-xml")
    /// A prefix that nothing declares.
    public static let badNamespacePrefix = Code(rawValue: "bad-namespace-prefix")
    /// Not UTF-8, or declared to be something else (RFC 6120 §11.6).
    public static let unsupportedEncoding = Code(rawValue: "unsupported-encoding")
    /// Text, other than white space, between stanzas.
    public static let badFormat = Code(rawValue: "bad-format")
    /// More than ``XMLStreamParser/Limits`` allows.
    public static let limitExceeded = Code(rawValue: "policy-violation")
    /// The parser has no memory, or met an error of its own.
    public static let internalError = Code(rawValue: "internal-server-error")
    /// The parser was fed after the end of the stream or after an error.
    public static let finished = Code(rawValue: "finished")
  }

  public var code: Code
  /// What was found, for a person; at most some hundred bytes, part of them the peer's.
  public var message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
