import NIOConcurrencyHelpers

/// The stored accounts as this process has last seen or made them: what differs from that is somebody else's doing.
package final class KnownAccounts: Sendable {
  /// What somebody else has changed in one account.
  package struct Change: Sendable, Equatable {
    /// Normalised bare JID.
    package let account: String
    package let before: Account?
    package let after: Account?
    /// It is no change: this process has not looked at the file before.
    package var isStart = false
  }

  private let known = NIOLockedValueBox([String: Account]())
  private let hasRead = NIOLockedValueBox(false)

  /// A write of this process. What somebody else had changed before it and nobody has looked at yet stays news.
  package func wrote(_ old: AccountFile, _ new: AccountFile) {
    known.withLockedValue { known in
      for name in Set(old.accounts.map(\.account)).union(new.accounts.map(\.account)) {
        guard old[name] != new[name], known[name] == old[name] else { continue }
        known[name] = new[name]
      }
    }
  }

  /// What is in the file and was not known. It is known from now on.
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
  /// What the session of the account has to do about it.
  package enum Consequence: Sendable, Equatable {
    case nothing
    case logIn
    case logOut
    /// To go by what is stored now; `presence`: also to show another one.
    case goBy(presence: Bool)
  }

  package var consequence: Consequence {
    let wasLogin = before?.isLogin == true
    guard let after, after.isLogin else { return wasLogin || after == nil ? .logOut : .nothing }
    guard let before, wasLogin else { return .logIn }
    let presence = before.presence != after.presence || before.noPresence != after.noPresence
    // What the agent itself notes of the account is no wish.
    var same = before
    same.presence = after.presence
    same.noPresence = after.noPresence
    same.lastState = after.lastState
    same.lastLogin = after.lastLogin
    same.idle = after.idle
    return presence || same != after ? .goBy(presence: presence) : .nothing
  }
}
