import AgentProtocol
import AgentStore
import GRDB
import XMPPFeatures

/// The result of storing several roster pushes in one transaction.
struct PushOutcome: Sendable {
  /// The pushes that were stored.
  var accepted: [Roster.Push] = []
  /// The change in the number of stored contacts.
  var added = 0

  /// - Parameters:
  /// - changes: each push, and whether a command on this device caused it.
  /// - count: the number of stored contacts.
  /// - isIncomplete: whether a part of the roster could not be stored, so that no version describes it.
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
    // No version describes a roster that is only partly stored.
    let isWhole = !isIncomplete && outcome.accepted.count == changes.count
    try StoredRoster.save(version: isWhole ? changes.last?.push.version : nil, of: account, database)
    return (outcome, events)
  }
}

extension Roster.Push {
  /// The contact after the push; nil where it was removed from the list.
  var item: Roster.Item? { if case .set(let item) = change { item } else { nil } }
}
