import AgentProtocol
import AgentStore
import GRDB
import XMPPFeatures

/// What has become of changes of the roster that were stored together.
struct PushOutcome: Sendable {
  /// Those that a roster has room for.
  var accepted: [Roster.Push] = []
  /// How many contacts more are stored.
  var added = 0

  /// - Parameters:
  ///   - changes: with whether a command of this device has made them.
  ///   - count: how many contacts are stored.
  ///   - isIncomplete: something of the roster could not be stored: no version says what is.
  static func store(
    _ changes: [(push: Roster.Push, isOwn: Bool)], of account: String, count: Int, isIncomplete: Bool,
    _ database: Database
  ) throws -> (Self, [ContactEvent]) {
    var outcome = Self()
    var events: [ContactEvent] = []
    for (push, isOwn) in changes {
      let hasRoom = count + outcome.added < Roster.maximumItems
      guard let (old, new) = try push.save(account, hasRoom: hasRoom, database) else { continue }
      outcome.accepted.append(push)
      outcome.added += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
      if new?.subscription.isFrom == true {
        try StoredRequests.remove(push.jid.bare.description, of: account, database)
      }
      events += ContactChange.events(from: old, to: new, isOwn: isOwn)
    }
    // Of a roster that is not stored as a whole no version says what is.
    let isWhole = !isIncomplete && outcome.accepted.count == changes.count
    try StoredRoster.save(version: isWhole ? changes.last?.push.version : nil, of: account, database)
    return (outcome, events)
  }
}

extension Roster.Push {
  /// The contact as it is now; nil: it is not in the list any more.
  var item: Roster.Item? { if case .set(let item) = change { item } else { nil } }
}
