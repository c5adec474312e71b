import AgentProtocol
import GRDB
import Glibc

// Counts the messages in the outbox, and finds accepted ones.

extension LocalStore {
  /// Adds the number of queued messages of each account.
  package func countQueued(_ sessions: [SessionStatus]) async throws(Failure) -> [SessionStatus] {
    try await change { try Self.countQueued(sessions, $0) }
  }

  /// Adds the numbers without an agent; blocks on the disk. Neither creates nor changes a database.
  package static func countQueued(
    _ sessions: [SessionStatus], at path: String
  ) throws(Failure) -> [SessionStatus] {
    guard access(path, F_OK) == 0 else { return sessions }
    do {
      return try reader(path).read { database in
        if try isEarlier(database) { return try countQueuedEarlier(sessions, database) }
        return try countQueued(sessions, database)
      }
    } catch {
      throw failure(error, path)
    }
  }

  private static func countQueued(
    _ sessions: [SessionStatus], _ database: Database
  ) throws -> [SessionStatus] {
    try sessions.map { session in
      var session = session
      session.queued = try OutboxMessage.count(of: session.account, database)
      return session
    }
  }

  /// Counts in a database of an earlier version, in which the outbox is a table.
  private static func countQueuedEarlier(
    _ sessions: [SessionStatus], _ database: Database
  ) throws -> [SessionStatus] {
    guard try database.tableExists("outbox") else { return sessions }
    return try sessions.map { session in
      var session = session
      session.queued =
        try Int.fetchOne(
          database, sql: "SELECT count(*) FROM outbox WHERE account = ?", arguments: [session.account]) ?? 0
      return session
    }
  }

  /// The given IDs for which messages were accepted, without an agent; blocks on the disk. Neither creates nor changes
  /// a database.
  ///
  /// - Parameter account: normalised bare JID.
  package static func accepted(
    _ ids: [String], of account: String, at path: String
  ) throws(Failure) -> [String] {
    guard access(path, F_OK) == 0 else { return [] }
    do {
      return try reader(path).read { database in
        // A database of an earlier version was never used by an agent of this version.
        if try isEarlier(database) { return [] }
        return try OutboxMessage.accepted(ids, of: account, own: account, database)
      }
    } catch {
      throw failure(error, path)
    }
  }

  /// The number of queued messages of each account that has any, without an agent; blocks on the disk. Does not create
  /// a database.
  ///
  /// - Parameter dropping: deletes the messages, so that none are queued.
  package static func queued(
    of accounts: [String], dropping: Bool, at path: String
  ) throws(Failure) -> [String: Int] {
    guard !accounts.isEmpty, access(path, F_OK) == 0 else { return [:] }
    let store = try LocalStore(path: path)
    do {
      return try store.database.write { database in
        var queued: [String: Int] = [:]
        for account in accounts {
          if dropping {
            try database.execute(
              sql: "DELETE FROM messages WHERE account = ? AND delivery < 0", arguments: [account])
          }
          let count = try OutboxMessage.count(of: account, database)
          if count > 0 { queued[account] = count }
        }
        return queued
      }
    } catch {
      throw failure(error, path)
    }
  }
}
