import AgentProtocol
import GRDB

/// The replacement of a damaged database.
package struct Damage: Sendable, Equatable {
  let path: String
  /// The path of the damaged database.
  package let movedAside: String
  let salvage: Salvage

  /// The failure to report to the user.
  package var failure: Failure {
    Failure(.databaseError, stage: .store, detail: .store(.damaged, path, movedAside, salvage.summary))
  }
}

/// A change in the condition of the local store.
package struct StoreNews: Sendable, Equatable {
  /// The problem; nil where the store can be written again.
  package var cause: Failure?
  /// The IDs of outbox messages that are lost, by account.
  package var lost: [String: [String]] = [:]
}

/// The problems of the local store during the life of the agent.
///
/// Pure: the caller reports the result of every write.
package struct StoreCondition: Sendable, Equatable {
  /// The damage found since the agent was started.
  package var damage: Damage?
  /// The reason why the store cannot be written now.
  package private(set) var obstacle: Failure?

  /// The failures to report to the user.
  package var failures: [Failure] { [damage?.failure, obstacle].compactMap(\.self) }

  /// Records the result of a write; returns whether the condition has changed.
  mutating func wrote(_ failure: Failure?) -> Bool {
    defer { obstacle = failure }
    return obstacle != failure
  }

  /// Whether an error means that no write can succeed.
  static func isObstacle(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN].contains(
      error.resultCode.primaryResultCode)
  }
}
