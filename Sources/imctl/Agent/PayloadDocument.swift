import AgentProtocol
import FoundationEssentials

/// The JSON document of `--auth function`: whatever the function at the server decides by.
enum PayloadDocument {
  /// All of standard input, which has to be one JSON object. What is in it is the server's business.
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
