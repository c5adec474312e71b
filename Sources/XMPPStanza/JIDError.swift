/// The reason why a string is not a JID (RFC 7622).
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
  /// The error for a user. Characters of the string, which may come from a peer, appear only if they are ASCII.
  public let message: String
  /// The key of the message for translations; nil for other messages.
  public let sentence: Sentence?
  /// The part of the JID that is the sentence's first argument; nil if it names none.
  public let part: Part?
  /// The other arguments of the sentence, in the order of its placeholders.
  public let arguments: [String]

  public init(
    _ code: Code, _ message: String, _ sentence: Sentence? = nil, of part: Part? = nil,
    _ arguments: [String] = []
  ) {
    self.code = code
    self.message = message
    self.sentence = sentence
    self.part = part
    self.arguments = arguments
  }

  init(_ code: Code, _ part: Part, _ violation: PRECIS.Violation) {
    self.init(
      code, "\(part.rawValue) \(violation.reason)", violation.sentence, of: part, violation.arguments)
  }

  /// The parts of a JID (RFC 7622 §3.1) with their English names.
  public enum Part: String, CaseIterable, Sendable {
    case local = "local part"
    case domain = "domain"
    case resource = "resource"
  }

  /// The keys of the messages.
  public enum Sentence: String, CaseIterable, Sendable {
    case noDomain, emptyLocal, emptyResource, spaceAtEnd, tooLong, unchecked, mixedDirections, space,
      character
    case misplacedCharacter, notIPv6, nameTooLong, labelTooLong, emptyLabel, hyphenAtEnd, falseALabel, notIDN
    case empty, unstable
  }

  public var description: String { message }
}
