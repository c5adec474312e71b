/// What an error says to a person: the key of a sentence with its arguments, or a text that somebody else has written.
///
/// A program that speaks another language than English translates the sentence by its key.
public struct ErrorReason: Sendable, Hashable {
  /// The name of the sentence, `connection.unknownHost`; nil for a text.
  public let key: String?
  /// What stands in the places of the sentence, in the order of their numbers.
  public let arguments: [ErrorReason]
  /// One line in English.
  public let description: String

  /// - Parameter description: the sentence with its arguments, in English.
  public init(key: String, arguments: [ErrorReason], description: String) {
    self.key = key
    self.arguments = arguments
    self.description = description
  }

  /// A text is shown as it is.
  public init(text: String) {
    key = nil
    arguments = []
    description = text
  }

  /// - Parameter arguments: what stands in the places of the sentence: other reasons, or values that are described.
  public init(_ sentence: some ErrorSentence, of arguments: [any Sendable & CustomStringConvertible]) {
    let arguments = arguments.map { $0 as? ErrorReason ?? ErrorReason(text: $0.description) }
    self.init(
      key: sentence.key, arguments: arguments,
      description: sentence.english(with: arguments.map(\.description)))
  }
}

extension ErrorReason: CustomStringConvertible {}

/// The sentences of one library, each by its name.
public protocol ErrorSentence: RawRepresentable<String>, CaseIterable, Sendable {
  /// What the names of the keys begin with: `connection`.
  static var topic: String { get }
  /// The sentence, with `{1}`, `{2}` and so on in the places of its arguments.
  var english: String { get }
}

extension ErrorSentence {
  /// The name of the sentence among those of all libraries: `connection.unknownHost`.
  public var key: String { "\(Self.topic).\(rawValue)" }

  /// The sentence with its arguments.
  func english(with arguments: [String]) -> String {
    var parts = english.split(separator: "{", omittingEmptySubsequences: false)[...]
    var text = String(parts.popFirst() ?? "")
    for part in parts {
      let place = part.prefix { $0 != "}" }
      let number = Int(place) ?? 0
      assert(arguments.indices.contains(number - 1), "\(key) has other arguments")
      text += arguments.indices.contains(number - 1) ? arguments[number - 1] : ""
      text += part.dropFirst(place.count + 1)
    }
    return text
  }
}
