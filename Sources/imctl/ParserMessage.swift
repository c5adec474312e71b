import AgentProtocol

/// An ArgumentParser message about invalid arguments.
///
/// The errors of ArgumentParser are not public. Their arguments have to be extracted from the English text.
struct ParserMessage {
  let detail: FailureDetail

  init(_ message: String) {
    for key in Self.keys {
      let sentence = FailureDetail.Key.usage(key).sentence.english
      if let arguments = Self.arguments(of: message, in: sentence) {
        detail = .sentence(.usage(key), arguments.map { .text(String($0)) })
        return
      }
    }
    detail = .text(message)
  }

  /// The sentences of ArgumentParser; the first one that fits counts.
  private static let keys: [FailureDetail.Usage] = [
    .unknownOptionNear, .unknownOption, .unexpectedArgument, .unexpectedArguments, .missingArgument,
    .missingOneOf, .missingValue, .excessValue, .wrongValueOfList, .wrongValueOf, .wrongValue, .invalidOption,
  ]

  /// The texts at the placeholders of a sentence. Each except the last is as short as possible.
  private static func arguments(of message: String, in sentence: String) -> [Substring]? {
    var parts = sentence.split(separator: "{", omittingEmptySubsequences: false)[...]
    guard let first = parts.popFirst(), message.hasPrefix(first), let last = parts.popLast() else {
      return nil
    }
    var rest = message.dropFirst(first.count)
    var arguments: [Substring] = []
    for part in parts {
      guard let end = rest.firstRange(of: part.dropFirst(2)) else { return nil }
      arguments.append(rest[..<end.lowerBound])
      rest = rest[end.upperBound...]
    }
    let end = last.dropFirst(2)
    guard rest.hasSuffix(end) else { return nil }
    return arguments + [rest.dropLast(end.count)]
  }
}
