/// A table as text: aligned and fitted columns with headings on a terminal, tab-separated cells elsewhere.
package struct TextTable: Sendable {
  package struct Column: Sendable {
    package enum Fit: Sendable {
      /// Always shown whole.
      case whole
      /// Shortened where the line would not fit.
      case cut
      /// Continued on further lines; for the last column only.
      case wrapped
    }

    let heading: String
    let fit: Fit

    package init(_ heading: String, _ fit: Fit = .whole) {
      self.heading = heading
      self.fit = fit
    }
  }

  /// A cell; its text must be safe on a terminal.
  package struct Cell: Sendable, Equatable, ExpressibleByStringInterpolation {
    package var text: String
    package var attribute: TextAttribute

    package init(_ text: String, _ attribute: TextAttribute = .plain) {
      self.text = text
      self.attribute = attribute
    }

    package init(stringLiteral text: String) { self.init(text) }
  }

  private static let gap = 2
  /// The least width of a column that is shortened or wrapped.
  private static let least = 8

  private let columns: [Column]
  private let style: OutputStyle
  private var rows: [[Cell]] = []

  package init(_ columns: [Column], _ style: OutputStyle) {
    self.columns = columns
    self.style = style
  }

  package var isEmpty: Bool { rows.isEmpty }
  package var count: Int { rows.count }

  package mutating func add(_ cells: [Cell]) { rows.append(cells) }

  /// The lines of the table. A terminal does not show columns without any text.
  ///
  /// - Parameter hasHeadings: Whether a terminal shows the headings above the rows.
  package func lines(hasHeadings: Bool = true) -> [String] {
    guard let room = style.columns else {
      return rows.map { $0.map(\.text).joined(separator: "\t") }
    }
    if rows.isEmpty { return [] }
    let shown = columns.indices.filter { column in rows.contains { !$0[column].text.isEmpty } }
    let headings = columns.map { Cell($0.heading, .bold) }
    let all = hasHeadings ? [headings] + rows : rows
    let widths = widths(of: shown, all, in: room)
    return all.flatMap { lines(of: $0, shown, widths) }
  }

  /// The widths of the shown columns. Where a line would be too long, the widest column that may be shortened gives way.
  private func widths(of shown: [Int], _ rows: [[Cell]], in room: Int) -> [Int] {
    var widths = shown.map { column in rows.reduce(0) { max($0, $1[column].text.displayWidth) } }
    var excess = widths.reduce(0, +) + Self.gap * (shown.count - 1) - room
    while excess > 0 {
      let flexible = shown.indices.filter { columns[shown[$0]].fit != .whole && widths[$0] > Self.least }
      guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { break }
      let next = flexible.filter { widths[$0] < widths[widest] }.map { widths[$0] }.max() ?? Self.least
      let step = min(excess, max(1, widths[widest] - max(next, Self.least)))
      widths[widest] -= step
      excess -= step
    }
    return widths
  }

  private func lines(of row: [Cell], _ shown: [Int], _ widths: [Int]) -> [String] {
    let parts = zip(shown, widths).map { column, width in
      switch columns[column].fit {
      case .whole: [row[column].text]
      case .cut: [row[column].text.cut(to: width)]
      case .wrapped: row[column].text.wrapped(to: width)
      }
    }
    return (0..<(parts.map(\.count).max() ?? 0)).map { number in
      var line = ""
      var (written, column) = (0, 0)
      for (index, part) in parts.enumerated() {
        defer { column += widths[index] + Self.gap }
        guard part.indices.contains(number), !part[number].isEmpty else { continue }
        // Spaces are written only before text, so that no line ends with them.
        line += String(repeating: " ", count: max(0, column - written))
        line += row[shown[index]].attribute.applied(to: part[number], style)
        written = max(column, written) + part[number].displayWidth
      }
      return line
    }
  }
}
