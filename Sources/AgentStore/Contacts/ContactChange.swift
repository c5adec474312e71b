import AgentProtocol
import XMPPFeatures

/// Derives the events from the old and new state of a contact.
///
/// Pure. The protocol does not tell which device made a change. Changes by this agent's commands and changes that only
/// the contact can make are known; the others are attributed to another device, or to nobody.
package enum ContactChange {
  /// The maximum number of events per change.
  package static let maximumEvents = 4

  /// - Parameters:
  ///   - old, new: nil where the contact is not in the list.
  ///   - isOwn: whether a command of this agent is making the change.
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
    // A subscription that was approved in advance was started by the contact.
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
