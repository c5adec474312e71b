import AgentProtocol
import GRDB
import Glibc

// How many messages wait to be sent, and which were accepted.

extension LocalStore {
  /// The same with how many messages wait in each account's outbox.
  package func countQueued(_ sessions: [SessionStatus]) async throws(Failure) -> [SessionStatus] {
    try await change { try Self.countQueued(sessions, $0) }
  }

  /// The same where no agent runs; blocks on the disk. A database is neither made for it nor changed.
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

  /// The same of a database in which the outbox is a table.
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

  /// Those of the ids that messages of an account were accepted under, where no agent tells; blocks on the disk. A database
  /// is neither made for it nor changed.
  ///
  /// - Parameter account: normalised bare JID.
  package static func accepted(
    _ ids: [String], of account: String, at path: String
  ) throws(Failure) -> [String] {
    guard access(path, F_OK) == 0 else { return [] }
    do {
      return try reader(path).read { database in
        // No agent of this version has had one of an earlier version.
        if try isEarlier(database) { return [] }
        return try OutboxMessage.accepted(ids, of: account, own: account, database)
      }
    } catch {
      throw failure(error, path)
    }
  }

  /// How many messages wait of each account that has any, where no agent runs; blocks on the disk. A database is not
  /// made for it.
  ///
  /// - Parameter dropping: they are deleted, and none waits.
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
