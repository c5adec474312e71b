import GRDB

// The order of messages, whose conversation they belong to, and what is in them.

extension LocalStore {
  /// Messages that share a millisecond have this many places, half of them before the first one.
  static let placesPerMillisecond: Int64 = 1 << 20

  /// Makes messages findable:
  /// - `place` is their order: by time, then as they were stored. Those that were fetched backwards, under cursors
  ///   below 0, stand before what was there. Some archives know whole seconds only: such a message stands behind all
  ///   of its second, or before it.
  /// - `peer` is the conversation: the bare JID of the other one, and the full JID of another device of the account.
  /// - `search` is a full-text index over them, which triggers keep in step.
  static func createSearch(_ database: Database) throws {
    func millisecond(_ time: String) -> String { "CAST(min(max(\(time), 0), 8e9) * 1000 AS INTEGER)" }
    let first = "\(millisecond("new.time")) * \(placesPerMillisecond)"
    let length = "CASE WHEN new.time = CAST(new.time AS INTEGER) THEN 1000 ELSE 1 END"
    let alike = """
      FROM messages WHERE place >= \(first) AND place < \(first) + \(length) * \(placesPerMillisecond)
      """
    let middle = placesPerMillisecond / 2
    try database.execute(
      sql: """
        ALTER TABLE messages ADD COLUMN place INTEGER;
        ALTER TABLE messages ADD COLUMN peer TEXT GENERATED ALWAYS AS (\(peer)) VIRTUAL;
        UPDATE messages SET place = ordered.place FROM (
          SELECT cursor, \(millisecond("time")) * \(placesPerMillisecond) + \(middle) - 1
            + row_number() OVER (PARTITION BY \(millisecond("time")) ORDER BY cursor) AS place FROM messages
        ) AS ordered WHERE ordered.cursor = messages.cursor;
        CREATE UNIQUE INDEX messagesByPlace ON messages (place);
        CREATE INDEX messagesByPeer ON messages (account, peer, place);
        CREATE VIRTUAL TABLE search USING fts5(
          body, subject, content = 'messages', content_rowid = 'place', columnsize = 0,
          tokenize = 'unicode61 remove_diacritics 2');
        INSERT INTO search (search) VALUES ('rebuild');
        CREATE TRIGGER messageInserted AFTER INSERT ON messages BEGIN
          UPDATE messages SET place = CASE WHEN new.cursor < 0
            THEN coalesce((SELECT min(place) \(alike)), \(first) + \(middle)) - 1
            ELSE coalesce((SELECT max(place) \(alike)), \(first) + \(middle) - 1) + 1 END
          WHERE cursor = new.cursor;
          INSERT INTO search (rowid, body, subject)
            SELECT place, body, subject FROM messages WHERE cursor = new.cursor AND place IS NOT NULL;
        END;
        CREATE TRIGGER messageDeleted AFTER DELETE ON messages WHEN old.place IS NOT NULL BEGIN
          INSERT INTO search (search, rowid, body, subject)
            VALUES ('delete', old.place, old.body, old.subject);
        END;
        CREATE TRIGGER messageChanged AFTER UPDATE OF body, subject ON messages WHEN old.place IS NOT NULL BEGIN
          INSERT INTO search (search, rowid, body, subject)
            VALUES ('delete', old.place, old.body, old.subject);
          INSERT INTO search (rowid, body, subject) VALUES (new.place, new.body, new.subject);
        END;
        """)
  }

  /// ``StoredMessage/insert(_:cursor:_:)`` gives messages their places and indexes them: a trigger would have SQLite
  /// write aside what each insertion changes, and end a part of the index with each.
  static func dropInsertionTrigger(_ database: Database) throws {
    try database.execute(sql: "DROP TRIGGER messageInserted")
  }

  /// Neither the local part nor the domain of a JID has a slash.
  private static let peer: String = {
    let other = "coalesce(CASE direction WHEN 1 THEN toJID ELSE fromJID END, account)"
    let bare = "substr(\(other), 1, instr(\(other) || '/', '/') - 1)"
    return "CASE WHEN \(bare) = account AND instr(toJID, '/') THEN \(other) ELSE \(bare) END"
  }()

  static func rebuildSearch(_ database: Database) throws {
    try database.execute(sql: "INSERT INTO search (search) VALUES ('rebuild')")
  }
}

extension StoredMessage {
  /// Where the message belongs in the order of all, as ``LocalStore/createSearch(_:)`` describes it; nil where so many
  /// share its time that there is none left.
  package func place(_ cursor: Int64, _ database: Database) throws -> Int64? {
    let places = Self.places(of: time)
    let middle = places.lowerBound + LocalStore.placesPerMillisecond / 2
    func outermost(_ function: String) throws -> Int64? {
      let selection = try database.cachedStatement(
        sql: "SELECT \(function)(place) FROM messages WHERE place >= ? AND place < ?")
      return try Int64.fetchOne(selection, arguments: [places.lowerBound, places.upperBound])
    }
    let place =
      try cursor < 0
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
