import AgentProtocol

/// Gathers the values that a request asks for into few writes: a list may have tens of thousands.
final class ItemLines {
  /// Octets that are gathered before they are written.
  private static let room = 32_768

  private let agent: OneTimeAgent
  private var lines = ""

  /// - Parameter agent: writes the lines.
  init(of agent: OneTimeAgent) { self.agent = agent }

  /// Blocks while the client does not read.
  func add(_ item: some Encodable) {
    lines += RPC.notification(item: item)
    if lines.utf8.count >= Self.room { flush() }
  }

  /// Writes what is left; the answer to the request follows.
  func flush() {
    agent.tell(lines: lines)
    lines = ""
  }
}
