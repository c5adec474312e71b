import AgentStore
import XMPPFeatures
import XMPPStanza

/// The changes of contacts that commands are making, and what these wait for.
final class PendingContactChanges {
  /// A change that a command waits for.
  private struct Wait {
    var jid: JID
    /// Whether the contact is as it is to be; nil: it is not in the list.
    var holds: (Roster.Item?) -> Bool
    var wait: DeliveryWait
  }

  /// How many commands are changing something of whom.
  private var changing: [JID: Int] = [:]
  /// How many commands are unblocking everybody.
  private var unblockingAll = 0
  private var waits: [Wait] = []

  /// Whether a command of this device is changing something of a contact.
  func contains(_ jid: JID) -> Bool { changing[jid] != nil }

  /// Whether a change of the blocklist comes of a command of this device.
  func contains(_ push: BlockList.Push) -> Bool {
    switch push {
    case .block(let jids), .unblock(let jids): jids.contains(where: contains)
    case .unblockAll: unblockingAll > 0
    }
  }

  /// - Parameter jid: who is changed; nil: everybody is unblocked.
  func begin(_ jid: JID?) {
    if let jid { changing[jid, default: 0] += 1 } else { unblockingAll += 1 }
  }

  func end(_ jid: JID?) {
    guard let jid else {
      unblockingAll -= 1
      return
    }
    let left = (changing[jid] ?? 1) - 1
    changing[jid] = left > 0 ? left : nil
  }

  /// Waits until a contact that the server has changed is as it is to be; ``remove(_:)`` follows.
  func add(_ jid: JID, _ holds: @escaping (Roster.Item?) -> Bool) -> DeliveryWait {
    let wait = DeliveryWait(["push"])
    waits.append(Wait(jid: jid, holds: holds, wait: wait))
    return wait
  }

  func remove(_ wait: DeliveryWait) { waits.removeAll { $0.wait === wait } }

  /// A contact is stored as the server has it; nil: it is not in the list any more.
  func stored(_ jid: JID, _ item: Roster.Item?) {
    for wait in waits where wait.jid == jid && wait.holds(item) { wait.wait.end() }
  }

  /// The session has ended for good: what is waited for does not come.
  func endWaits() {
    for wait in waits { wait.wait.end() }
  }
}
