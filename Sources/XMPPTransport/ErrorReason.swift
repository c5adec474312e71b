/// The reason of an error: the key of a sentence with its arguments, or a text from elsewhere.
///
/// Programs in languages other than English translate the sentence by its key.
public struct ErrorReason: Sendable, Hashable {
  /// The key of the sentence, such as `connection.unknownHost`; nil for a text.
  public let key: String?
  /// The arguments of the sentence, in the order of its numbered placeholders.
  public let arguments: [ErrorReason]
  /// The reason as one line in English.
  public let description: String

  /// - Parameter description: The sentence with its arguments, in English.
  public init(key: String, arguments: [ErrorReason], description: String) {
    self.key = key
    self.arguments = arguments
    self.description = description
  }

  /// A text that is shown unchanged.
  public init(text: String) {
    key = nil
    arguments = []
    description = text
  }

  /// - Parameter arguments: The arguments of the sentence: other reasons, or values that are shown by their
  ///   description.
  public init(_ sentence: some ErrorSentence, of arguments: [any Sendable & CustomStringConvertible]) {
    let arguments = arguments.map { $0 as? ErrorReason ?? ErrorReason(text: $0.description) }
    self.init(
      key: sentence.key, arguments: arguments,
      description: sentence.english(with: arguments.map(\.description)))
  }
}

extension ErrorReason: CustomStringConvertible {}

/// The sentences of one library, identified by their names.
public protocol ErrorSentence: RawRepresentable<String>, CaseIterable, Sendable {
  /// The first part of the keys, such as `connection`.
  static var topic: String { get }
  /// The sentence with the placeholders `{1}`, `{2}` and so on for its arguments.
  var english: String { get }
}

extension ErrorSentence {
  /// The key of the sentence, which is unique among all libraries: `connection.unknownHost`.
  public var key: String { "\(Self.topic).\(rawValue)" }

  /// The sentence with its arguments inserted.
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
