import AgentProtocol
import Terminal

/// The messages of `history` as text, a row each: the local time, the sender, and the content.
struct MessageTable {
  /// The rows that are aligned with each other before they are printed.
  private static let block = 200

  private let style: OutputStyle
  private let namesRecipients: Bool
  private var table: TextTable

  /// - Parameter namesRecipients: Whether a sent message shows its recipient, for a list of several conversations.
  init(_ style: OutputStyle, namesRecipients: Bool) {
    self.style = style
    self.namesRecipients = namesRecipients
    table = Self.emptyTable(style)
  }

  /// Adds a message. Returns the finished lines.
  mutating func add(_ shown: Shown<Event>) -> [String] {
    guard case .message(let message) = shown.value.body else { return [] }
    let cells = MessageCells(message, shown.appearance, style, namesRecipient: namesRecipients)
    table.add([TextTable.Cell(LocalTime(shown.value.time).description, .faint), cells.sender, cells.content])
    return table.count < Self.block ? [] : finish()
  }

  /// The lines of the messages that have not been returned.
  mutating func finish() -> [String] {
    defer { table = Self.emptyTable(style) }
    return table.lines(hasHeadings: false)
  }

  private static func emptyTable(_ style: OutputStyle) -> TextTable {
    TextTable([.init(""), .init("", .cut), .init("", .wrapped)], style)
  }
}
