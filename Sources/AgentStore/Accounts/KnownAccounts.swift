import NIOConcurrencyHelpers

/// The stored accounts as this process last read or wrote them; any difference to the file was made by another process.
package final class KnownAccounts: Sendable {
  /// A change to one account by another process.
  package struct Change: Sendable, Equatable {
    /// Normalised bare JID.
    package let account: String
    package let before: Account?
    package let after: Account?
    /// Whether this is the first reading of the file, so that every account counts as changed.
    package var isStart = false
  }

  private let known = NIOLockedValueBox([String: Account]())
  private let hasRead = NIOLockedValueBox(false)

  /// Records a write of this process. Unread changes that another process made before it stay news.
  package func wrote(_ old: AccountFile, _ new: AccountFile) {
    known.withLockedValue { known in
      for name in Set(old.accounts.map(\.account)).union(new.accounts.map(\.account)) {
        guard old[name] != new[name], known[name] == old[name] else { continue }
        known[name] = new[name]
      }
    }
  }

  /// Returns the changes in the file and records its contents.
  package func news(in file: AccountFile) -> [Change] {
    let isStart = hasRead.withLockedValue { hasRead in
      defer { hasRead = true }
      return !hasRead
    }
    return known.withLockedValue { known in
      let stored = Dictionary(uniqueKeysWithValues: file.accounts.map { ($0.account, $0) })
      defer { known = stored }
      return Set(known.keys).union(stored.keys).sorted().compactMap { name in
        known[name] == stored[name]
          ? nil : Change(account: name, before: known[name], after: stored[name], isStart: isStart)
      }
    }
  }
}

extension KnownAccounts.Change {
  /// The consequence of a change for the account's session.
  package enum Consequence: Sendable, Equatable {
    case nothing
    case logIn
    case logOut
    /// Adopt the stored settings; with `presence`, also send another presence.
    case goBy(presence: Bool)
  }

  package var consequence: Consequence {
    let wasLogin = before?.isLogin == true
    guard let after, after.isLogin else { return wasLogin || after == nil ? .logOut : .nothing }
    guard let before, wasLogin else { return .logIn }
    let presence = before.presence != after.presence || before.noPresence != after.noPresence
    // Fields that the agent itself maintains do not count.
    var same = before
    same.presence = after.presence
    same.noPresence = after.noPresence
    same.lastState = after.lastState
    same.lastLogin = after.lastLogin
    same.idle = after.idle
    return presence || same != after ? .goBy(presence: presence) : .nothing
  }
}
