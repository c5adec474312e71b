import AgentProtocol
import AgentStore
import NIOConcurrencyHelpers
import XMPPFeatures
import XMPPStanza

// What the server pushes of the contact list and the blocklist.

/// What has become of changes of the roster that were stored together.
private struct PushOutcome: Sendable {
  /// Those that were taken.
  var taken: [Roster.Push] = []
  /// How many contacts more are stored.
  var added = 0
}

extension Session {
  /// The stream may have ended by now: what it has acknowledged does not come again. Changes of the roster that wait behind
  /// this one are taken together with it.
  func take(push: IQ) async {
    let own = traffic.own ?? account
    if let push = Roster.Push(push, own: own) {
      var pushes = [push]
      while pushes.count < ContactTraffic.maximumTogether, case .push(let next)? = contacts.arrivals.first,
        let push = Roster.Push(next, own: own)
      {
        contacts.arrivals.removeFirst()
        pushes.append(push)
      }
      await take(pushes)
    } else if let push = BlockList.Push(push, own: own) {
      await take(push)
    }
  }

  /// Stores changes of the roster in one transaction. More contacts than a roster may have are refused.
  private func take(_ pushes: [Roster.Push]) async {
    let name = account.description
    let changes = pushes.map { (push: $0, isOwn: contacts.changing[$0.jid] != nil) }
    let box = NIOLockedValueBox(PushOutcome())
    let (known, isIncomplete) = (contacts.stored, contacts.isIncomplete)
    let isStored = await storing(changes.count * ContactChange.maximumEvents) { database in
      var outcome = PushOutcome()
      var events: [ContactEvent] = []
      for (push, isOwn) in changes {
        let hasRoom = known + outcome.added < Roster.maximumItems
        guard let (old, new) = try push.keep(name, hasRoom: hasRoom, database) else { continue }
        outcome.taken.append(push)
        outcome.added += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
        if new?.subscription.isFrom == true {
          try StoredRequests.remove(push.jid.bare.description, of: name, database)
        }
        events += ContactChange.events(from: old, to: new, isOwn: isOwn)
      }
      // Of a roster that is not kept as a whole no version says what is.
      let isWhole = !isIncomplete && outcome.taken.count == changes.count
      try StoredRoster.keep(version: isWhole ? changes.last?.push.version : nil, of: name, database)
      box.withLockedValue { $0 = outcome }
      return events
    }
    let outcome = isStored ? box.withLockedValue { $0 } : PushOutcome(taken: pushes)
    contacts.stored += outcome.added
    let refused = pushes.count - outcome.taken.count
    if refused > 0 { traffic.refusals.add(.push, refused) }
    if !isStored || refused > 0 { contacts.isIncomplete = true }
    contacts.version =
      isStored ? (contacts.isIncomplete ? nil : outcome.taken.last?.version) ?? "" : nil
    for push in outcome.taken { took(push) }
  }

  /// Notes what a stored change of a contact means, and tells those who wait for it.
  private func took(_ push: Roster.Push) {
    let after: Roster.Item?
    switch push.change {
    case .set(let item):
      after = item
      contacts.presences.add(item.jid.bare.description)
    case .remove(let jid):
      after = nil
      contacts.presences.remove(jid.bare.description)
    }
    audience.change(push.jid, isSubscriber: after?.subscription.isFrom == true)
    for wait in contacts.waits where wait.jid == push.jid && wait.holds(after) { wait.wait.end() }
  }
}
