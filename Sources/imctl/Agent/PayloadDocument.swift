import AgentProtocol
import FoundationEssentials

/// The JSON document of `--auth function`, which a function at the server evaluates.
enum PayloadDocument {
  /// Reads all of standard input, which must be one JSON object. Its content is not checked.
  static func read(until deadline: Deadline) throws -> String {
    var text = try StandardInput.rest(until: deadline)
    while text.last?.isWhitespace == true { text.removeLast() }
    guard (try? JSONDecoder().decode([String: Anything].self, from: Data(text.utf8))) != nil else {
      throw Failure.invalid(.usage(.notPayload))
    }
    return text
  }

  private struct Anything: Decodable {
    init(from decoder: any Decoder) {}
  }
}
