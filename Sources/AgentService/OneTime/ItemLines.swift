import AgentProtocol
import AgentStore
import Dispatch

/// Gathers the values of an answer into few writes, because a list may have tens of thousands.
final class ItemLines {
  /// The octets gathered before a write.
  private static let room = 32_768
  /// The number of values that one core encodes at a time, and the number of such blocks before a write.
  private static let block = 64, blocks = 8

  private let agent: OneTimeAgent
  private var lines = ""

  /// - Parameter agent: the agent that writes the lines.
  init(of agent: OneTimeAgent) { self.agent = agent }

  /// Adds a value. Blocks while the client does not read.
  func add(_ item: some Encodable) {
    lines += RPC.notification(item: item)
    if lines.utf8.count >= Self.room { flush() }
  }

  /// Adds values; with appearances, each together with that of its JID. Blocks while the client does not read.
  func add<Item: Codable & Sendable>(
    _ items: [Item], of jid: (Item) -> String, _ appearances: KnownAppearances?
  ) {
    guard let appearances else { return add(contentsOf: items) }
    add(contentsOf: items.map { Shown($0, appearances.appearance(of: jid($0))) })
  }

  /// Adds values, which all cores encode. Blocks while the client does not read.
  private func add(contentsOf items: [some Encodable & Sendable]) {
    var rest = items[...]
    while !rest.isEmpty {
      let blocks = (0..<Self.blocks).map { _ in rest.popFirst(Self.block) }
      let texts = [String](unsafeUninitializedCapacity: blocks.count) { texts, count in
        // Safe: each iteration initialises an element of its own, and all end before this closure does.
        nonisolated(unsafe) let texts = texts
        DispatchQueue.concurrentPerform(iterations: blocks.count) { number in
          let text = blocks[number].reduce(into: "") { $0 += RPC.notification(item: $1) }
          texts.initializeElement(at: number, to: text)
        }
        count = blocks.count
      }
      agent.tell(lines: texts.joined())
    }
  }

  /// Writes the remaining lines, before the answer to the request.
  func flush() {
    agent.tell(lines: lines)
    lines = ""
  }
}

extension ArraySlice {
  /// Removes and returns the first elements, at most this number.
  fileprivate mutating func popFirst(_ count: Int) -> ArraySlice {
    defer { self = dropFirst(count) }
    return prefix(count)
  }
}
