import GRDB

// The order of messages, whose conversation they belong to, and what is in them.

extension LocalStore {
  /// Messages that share a millisecond have this many places, half of them before the first one.
  static let placesPerMillisecond: Int64 = 1 << 20

  /// Neither the local part nor the domain of a JID has a slash.
  static let peer: String = {
    let other = "coalesce(CASE direction WHEN 1 THEN toJID ELSE fromJID END, account)"
    let bare = "substr(\(other), 1, instr(\(other) || '/', '/') - 1)"
    return "CASE WHEN \(bare) = account AND instr(toJID, '/') THEN \(other) ELSE \(bare) END"
  }()

  /// Makes the index of what the history shows. FTS5's own `rebuild` would take up messages without a place, too.
  static func rebuildSearch(_ database: Database) throws {
    try database.execute(
      sql: """
        INSERT INTO search (search) VALUES ('delete-all');
        INSERT INTO search (rowid, body, subject)
          SELECT place, body, subject FROM messages WHERE place IS NOT NULL ORDER BY place;
        """)
  }
}

extension StoredMessage {
  /// Where the message belongs in the order of all, as ``LocalStore/createSearch(_:)`` describes it; nil where so many
  /// share its time that there is none left.
  ///
  /// - Parameter isPast: it stands before the others of its time, not behind them.
  package func place(isPast: Bool = false, _ database: Database) throws -> Int64? {
    let places = Self.places(of: time)
    let middle = places.lowerBound + LocalStore.placesPerMillisecond / 2
    func outermost(_ function: String) throws -> Int64? {
      let selection = try database.cachedStatement(
        sql: "SELECT \(function)(place) FROM messages WHERE place >= ? AND place < ?")
      return try Int64.fetchOne(selection, arguments: [places.lowerBound, places.upperBound])
    }
    let place =
      try isPast
      ? (outermost("min") ?? middle) - 1 : (outermost("max") ?? middle - 1) + 1
    if places.contains(place) { return place }
    let taken = try database.cachedStatement(sql: "SELECT 1 FROM messages WHERE place = ?")
    return try Int.fetchOne(taken, arguments: [place]) == nil ? place : nil
  }

  /// The places of messages of one time.
  package static func places(of time: Double) -> Range<Int64> {
    let first = HistoryQuery.firstPlace(time, .down)
    let length = (time == time.rounded(.towardZero) ? 1000 : 1) * LocalStore.placesPerMillisecond
    return first..<first + length
  }

  /// Makes the message findable by its words.
  package func index(_ place: Int64, _ database: Database) throws {
    let insertion = try database.cachedStatement(
      sql: "INSERT INTO search (rowid, body, subject) VALUES (?, ?, ?)")
    try insertion.execute(arguments: [place, body, subject])
  }
}
