import AgentProtocol
import Terminal

/// The sender and the content of a message, which `history` and `watch` show in the same way.
struct MessageCells {
  let sender: TextTable.Cell
  let content: TextTable.Cell

  /// - Parameter namesRecipient: Whether a sent message shows its recipient, since there are several conversations.
  init(_ message: MessageEvent, _ appearance: Appearance, _ style: OutputStyle, namesRecipient: Bool) {
    let isSent = message.direction == .out
    let own = inLanguage("you", "我")
    sender =
      !isSent
      ? TextTable.Cell(appearance.shownName, appearance.attribute)
      : namesRecipient
        ? TextTable.Cell("\(own) → \(appearance.shownName)", appearance.attribute)
        : TextTable.Cell(own, .bold)
    content = TextTable.Cell(
      MessageText(message, style, sender: isSent ? nil : appearance.name).description,
      message.retracted == true ? .faint : .plain)
  }
}
