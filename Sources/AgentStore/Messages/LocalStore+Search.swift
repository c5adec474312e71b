import GRDB

// The order of messages, their conversations, and the search index.

extension LocalStore {
  /// The number of places in a millisecond; half of them are for messages from the history.
  static let placesPerMillisecond: Int64 = 1 << 20

  /// Neither the local part nor the domain of a JID contains a slash.
  static let peer: String = {
    let other = "coalesce(CASE direction WHEN 1 THEN toJID ELSE fromJID END, account)"
    let bare = "substr(\(other), 1, instr(\(other) || '/', '/') - 1)"
    return "CASE WHEN \(bare) = account AND instr(toJID, '/') THEN \(other) ELSE \(bare) END"
  }()

  /// Rebuilds the search index of the history. FTS5's own `rebuild` would include messages without a place.
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
  /// The place of the message in the order described at ``LocalStore/createSearch(_:)``; nil where no place is left for
  /// its time.
  ///
  /// - Parameter isPast: whether the message comes before the others of its time, not after them.
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

  /// The places for messages of one time.
  package static func places(of time: Double) -> Range<Int64> {
    let first = HistoryQuery.firstPlace(time, .down)
    let length = (time == time.rounded(.towardZero) ? 1000 : 1) * LocalStore.placesPerMillisecond
    return first..<first + length
  }

  /// Adds the message to the search index.
  package func index(_ place: Int64, _ database: Database) throws {
    let insertion = try database.cachedStatement(
      sql: "INSERT INTO search (rowid, body, subject) VALUES (?, ?, ?)")
    try insertion.execute(arguments: [place, body, subject])
  }
}
