import AgentProtocol
import GRDB

/// What has become of a database that was damaged.
package struct Damage: Sendable, Equatable {
  let path: String
  /// Where it is now.
  package let movedAside: String
  let salvage: Salvage

  /// To tell the user.
  package var failure: Failure {
    Failure(.databaseError, stage: .store, detail: .store(.damaged, path, movedAside, salvage.summary))
  }
}

/// What is new of what is wrong with the local store.
package struct StoreNews: Sendable, Equatable {
  /// nil: it can be written again.
  package var cause: Failure?
  /// Ids of messages that waited to be sent and are lost, by account.
  package var lost: [String: [String]] = [:]
}

/// What is wrong with the local store while the agent runs.
///
/// Pure: is told of every write and says what is new in it.
package struct StoreCondition: Sendable, Equatable {
  /// Since the agent was started.
  package var damage: Damage?
  /// Why nothing can be written now.
  package private(set) var obstacle: Failure?

  /// What to tell the user of the store.
  package var failures: [Failure] { [damage?.failure, obstacle].compactMap(\.self) }

  /// A write has failed, or has not; whether that is news.
  mutating func wrote(_ failure: Failure?) -> Bool {
    defer { obstacle = failure }
    return obstacle != failure
  }

  /// Whether an error says that nothing can be written, whatever it is.
  static func isObstacle(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN].contains(
      error.resultCode.primaryResultCode)
  }
}
