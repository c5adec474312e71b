import AgentProtocol
import Terminal

extension Appearance {
  /// The name if there is one, otherwise the JID; safe on a terminal.
  var shownName: String { "\(peer: name ?? jid)" }

  var attribute: TextAttribute { TextAttribute(color: color) }

  /// The cells of ``TextTable/Column/nameAndJID``, of which the first that is not empty has the colour.
  var nameAndJID: [TextTable.Cell] {
    guard let name else { return ["", TextTable.Cell("\(peer: jid)", attribute)] }
    return [TextTable.Cell("\(peer: name)", attribute), TextTable.Cell("\(peer: jid)")]
  }
}

extension TextTable.Column {
  static var nameAndJID: [Self] { [Self(inLanguage("NAME", "名称"), .cut), Self("JID", .cut)] }
}

extension TextTable {
  /// A table without headings of facts and their names.
  init(facts: [(name: String, value: String)], _ style: OutputStyle) {
    self.init([Column(""), Column("", .wrapped)], style)
    for (name, value) in facts { add([Cell(name, .faint), Cell("\(peer: value)")]) }
  }
}
