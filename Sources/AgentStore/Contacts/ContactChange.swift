import AgentProtocol
import XMPPFeatures

/// What has happened between two states of a contact, as events tell it.
///
/// Pure. Which device has done it is not on the wire: what this agent's own commands are doing is known, what only the
/// contact can do is, too, and the rest was another device, or nobody knows.
package enum ContactChange {
  /// Events that one change has at most.
  package static let maximumEvents = 4

  /// - Parameters:
  ///   - old, new: nil where it is not in the list.
  ///   - isOwn: a command of this agent is changing it.
  package static func events(
    from old: Roster.Item?, to new: Roster.Item?, isOwn: Bool
  ) -> [ContactEvent] {
    guard let jid = (new ?? old)?.jid.description else { return [] }
    let device: ContactEvent.Actor = isOwn ? .own : .otherDevice
    guard let new else { return [ContactEvent(.remove, jid: jid, by: device)] }
    let before = old ?? Roster.Item(jid: new.jid)
    var events: [ContactEvent] = []
    func tell(_ action: ContactEvent.Action, by actor: ContactEvent.Actor?) {
      events.append(ContactEvent(action, jid: jid, by: actor))
    }
    if old == nil {
      tell(.add, by: device)
    } else if before.name != new.name || Set(before.groups) != Set(new.groups) {
      tell(.update, by: device)
    }
    switch (before.subscription.isFrom, new.subscription.isFrom) {
    // Who was approved beforehand has come by itself.
    case (false, true): tell(.accept, by: before.isApproved && !isOwn ? .contact : device)
    case (true, false): tell(.unsubscribe, by: isOwn ? .own : nil)
    default: if !before.isApproved, new.isApproved { tell(.approve, by: device) }
    }
    switch (before.subscription.isTo, new.subscription.isTo) {
    case (false, true): tell(.subscribed, by: .contact)
    case (true, false): tell(.unsubscribed, by: isOwn ? .own : nil)
    default:
      if !before.isAsked, new.isAsked { tell(.subscribe, by: device) }
      if before.isAsked, !new.isAsked, !new.subscription.isTo {
        tell(.unsubscribed, by: isOwn ? .own : .contact)
      }
    }
    return events
  }
}
