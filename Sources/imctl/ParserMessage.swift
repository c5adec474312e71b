import AgentProtocol

/// What ArgumentParser says of wrong arguments.
///
/// Its errors are not public: they come as English text alone, in which the arguments are looked for.
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

  /// The first that fits counts.
  private static let keys: [FailureDetail.Usage] = [
    .unknownOptionNear, .unknownOption, .unexpectedArgument, .unexpectedArguments, .missingArgument,
    .missingOneOf, .missingValue, .excessValue, .wrongValueOfList, .wrongValueOf, .wrongValue, .invalidOption,
  ]

  /// What stands in the places of a sentence; each takes as little as it can, but the last one.
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
