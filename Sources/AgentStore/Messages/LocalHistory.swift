import AgentProtocol
import GRDB
import Glibc

/// Reads messages from the local store, beside a running agent or without one.
///
/// Every call blocks on the disk.
package struct LocalHistory {
  private let database: DatabaseQueue
  private let path: String
  /// The number of messages read at a time, so that the agent's log is not held open while they are written.
  private static let page = 500

  /// Opens the database at `path`; nil where there is none. A database of an earlier version is upgraded.
  ///
  /// Throws `databaseError` (33002) where it cannot be read.
  package init?(path: String) throws(Failure) {
    guard let database = try LocalStore.forReading(path) else { return nil }
    self.database = database
    self.path = path
  }

  /// Passes on the messages, oldest first unless `newestFirst`, as their events or folded. A folded query with words
  /// must be newest first.
  package func read(
    _ query: HistoryQuery, newestFirst: Bool = false, _ body: (Event) throws -> Void
  ) throws {
    var query = query
    if query.limit == .max, !newestFirst { return try readAll(&query, body) }
    var isWhole = false
    while !isWhole, query.limit > 0 {
      let places = try places(query)
      // Not every match is shown, so more results may follow.
      isWhole = !query.isFolded || query.words.isEmpty || places.count < query.limit
      query.place = places.last
      query.limit -= try read(newestFirst ? places : places.reversed(), query, body)
    }
  }

  /// Reads all messages without counting them first.
  private func readAll(_ query: inout HistoryQuery, _ body: (Event) throws -> Void) throws {
    query.isOldestFirst = true
    query.limit = Self.page
    while true {
      let places = try places(query)
      _ = try read(places, query, body)
      guard places.count == query.limit, let last = places.last else { return }
      query.place = last
    }
  }

  private func places(_ query: HistoryQuery) throws(Failure) -> [Int64] {
    let statement = query.statement
    return try reading { try Int64.fetchAll($0, sql: statement.sql, arguments: statement.arguments) }
  }

  /// Passes on messages; returns their number.
  private func read(_ places: [Int64], _ query: HistoryQuery, _ body: (Event) throws -> Void) throws -> Int {
    var places = places[...]
    var count = 0
    while !places.isEmpty {
      let page = places.prefix(Self.page)
      places.removeFirst(page.count)
      let events = try reading { database in
        let selection = try database.cachedStatement(
          sql: "SELECT \(StoredMessage.foldable()) FROM messages WHERE place = ?")
        return try page.compactMap { place in
          try Row.fetchOne(selection, arguments: [place]).flatMap { try Self.event($0, query, database) }
        }
      }
      for event in events { try body(event) }
      count += events.count
    }
    return count
  }

  /// Messages fetched from the history were no events: their cursor is given as 0. The message that such a message
  /// corrects may come after it, or belong to another sender.
  private static func event(_ row: Row, _ query: HistoryQuery, _ database: Database) throws -> Event? {
    let account: String = row["account"]
    let cursor: Int64? = row["cursor"]
    if query.isFolded {
      let message =
        try query.words.isEmpty ? StoredMessage.folded(row, database) : StoredMessage.found(row, database)
      return message?.event(account: account, cursor: cursor ?? 0)
    }
    var message = StoredMessage(row)
    if let id = message.replaces, cursor == nil,
      try !StoredMessage.isKnown(id, of: message.sender, account, database)
    {
      message.replaces = nil
    }
    return message.event(account: account, cursor: cursor ?? 0)
  }

  private func reading<Value>(_ body: (Database) throws -> Value) throws(Failure) -> Value {
    do { return try database.read(body) } catch { throw LocalStore.failure(error, path) }
  }
}
