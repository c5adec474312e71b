import AgentProtocol
import Terminal

extension MessageEvent {
  /// `error: service-unavailable: text` for a refusal, `failed: …` for a refused message; nil for any other message.
  var refusalMark: String? {
    guard type == "error" || error != nil else { return nil }
    let word = type == "error" ? "error" : "failed"
    return [word, error?.condition, error?.text].compactMap { text in text.map { "\(peer: $0)" } }
      .joined(separator: ": ")
  }
}
