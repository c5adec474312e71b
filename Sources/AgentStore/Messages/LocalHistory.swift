import AgentProtocol
import GRDB
import Glibc

/// The messages of the local store, read beside an agent that may be writing them, or without one.
///
/// Every call blocks on the disk.
package struct LocalHistory {
  private let database: DatabaseQueue
  private let path: String
  /// Messages that are read at a time: nothing holds the agent's log open while they are written.
  private static let page = 500

  /// Opens the database at `path`; nil where there is none. One of an earlier version is brought up to date.
  ///
  /// Throws `databaseError` (33002) where it cannot be read.
  package init?(path: String) throws(Failure) {
    guard access(path, F_OK) == 0 else { return nil }
    self.path = path
    do {
      if let database = try Self.open(path) {
        self.database = database
        return
      }
      _ = try LocalStore(path: path)
      guard let database = try Self.open(path) else { return nil }
      self.database = database
    } catch {
      throw LocalStore.failure(error, path)
    }
  }

  /// Nil where it is of an earlier version.
  private static func open(_ path: String) throws -> DatabaseQueue? {
    let database = try LocalStore.reader(path)
    return try database.read { try LocalStore.isCurrent($0) } ? database : nil
  }

  /// Gives the messages, oldest first unless `newestFirst`, as the events that they were, or folded into each other. The
  /// answer to a folded query with words has to be wanted newest first.
  package func read(
    _ query: HistoryQuery, newestFirst: Bool = false, _ body: (Event) throws -> Void
  ) throws {
    var query = query
    if query.limit == .max, !newestFirst { return try readAll(&query, body) }
    var isWhole = false
    while !isWhole, query.limit > 0 {
      let places = try places(query)
      // Of what was found not everything is shown: further down there may be more.
      isWhole = !query.isFolded || query.words.isEmpty || places.count < query.limit
      query.place = places.last
      query.limit -= try read(newestFirst ? places : places.reversed(), query, body)
    }
  }

  /// Where all are wanted, nobody has to know how many there are before the first one is given.
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

  /// How many messages there were.
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

  /// What was fetched out of the past was no event: its cursor is told as 0, before all of them. What such a message
  /// corrects may have come behind it, or be somebody else's.
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
