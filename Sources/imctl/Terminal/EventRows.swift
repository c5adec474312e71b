import AgentProtocol
import Terminal

/// The events of `watch` as rows of text. A terminal shows the local time, the contact or account that the event is
/// about, and the content; a pipe also gets the account and the name of the event.
final class EventRows {
  /// The widest column of names on a terminal.
  private static let maximumName = 24

  private let style: OutputStyle
  private let namesAccounts: Bool
  private let appearances = Appearances(until: Deadline(.ofRequest))
  /// The width of the names so far, with which later rows are aligned.
  private var nameWidth = 0
  /// The account of the last row on a terminal.
  private var account: String?

  /// - Parameter namesAccounts: Whether events of several accounts may come.
  init(_ style: OutputStyle, namesAccounts: Bool) {
    self.style = style
    self.namesAccounts = namesAccounts
  }

  func lines(of event: Event) -> [String] {
    if case .contact(let change) = event.body { appearances.forget(change.jid, account: event.account) }
    let (name, content) = cells(of: event)
    let time = TextTable.Cell(LocalTime(event.time).description, .faint)
    if style.columns == nil {
      var table = TextTable(Array(repeating: TextTable.Column(""), count: 5), style)
      table.add([time, TextTable.Cell("\(peer: event.account)"), TextTable.Cell(event.name), name, content])
      return table.lines()
    }
    nameWidth = max(nameWidth, min(name.text.displayWidth, Self.maximumName))
    var table = TextTable([.init(""), .init(""), .init("", .wrapped)], style)
    table.add([
      time, TextTable.Cell(name.text.cut(to: nameWidth).padded(to: nameWidth), name.attribute), content,
    ])
    return heading(event.account) + table.lines(hasHeadings: false)
  }

  /// A line with the account where events of another one begin; none as long as there are events of one account.
  private func heading(_ account: String) -> [String] {
    defer { self.account = account }
    guard namesAccounts, let last = self.account, last != account else { return [] }
    return [TextAttribute.faint.applied(to: "── \(TerminalText(account)) ──", style)]
  }

  /// The name and the content. The name is that of the contact or the account that the event is about.
  private func cells(of event: Event) -> (name: TextTable.Cell, content: TextTable.Cell) {
    if case .message(let message) = event.body {
      let appearance = appearances.of(message.shownJID ?? event.account, account: event.account)
      let cells = MessageCells(message, appearance, style, namesRecipient: true)
      return (cells.sender, cells.content)
    }
    let text = EventText.body(event.body)
    // The name of an event that is no message makes its content understandable.
    let content = TextTable.Cell(style.columns == nil ? text : "\(event.name): \(text)")
    guard let jid = contact(of: event) else { return (TextTable.Cell("\(peer: event.account)"), content) }
    let appearance = appearances.of(String(jid.prefix { $0 != "/" }), account: event.account)
    return (TextTable.Cell(appearance.shownName, appearance.attribute), content)
  }

  private func contact(of event: Event) -> String? {
    switch event.body {
    case .presence(let change): change.from
    case .contact(let change): change.jid
    case .conversation(let change): change.jid
    case .device(let change): change.jid
    case .receipt(let receipt): receipt.from
    case .chatState(let change): change.from
    case .stanzaRefused(let refused): refused.from
    default: nil
    }
  }
}
