import AgentProtocol

/// Gathers the values of an answer into few writes, because a list may have tens of thousands.
final class ItemLines {
  /// The octets gathered before a write.
  private static let room = 32_768

  private let agent: OneTimeAgent
  private var lines = ""

  /// - Parameter agent: the agent that writes the lines.
  init(of agent: OneTimeAgent) { self.agent = agent }

  /// Adds a value. Blocks while the client does not read.
  func add(_ item: some Encodable) {
    lines += RPC.notification(item: item)
    if lines.utf8.count >= Self.room { flush() }
  }

  /// Writes the remaining lines, before the answer to the request.
  func flush() {
    agent.tell(lines: lines)
    lines = ""
  }
}
