import AgentStore
import XMPPFeatures
import XMPPStanza

/// The changes of contacts that commands are making, and the commands that wait for pushes.
final class PendingContactChanges {
  /// A command that waits for a push.
  private struct Wait {
    var jid: JID
    /// Whether the contact is in the wanted state; the argument is nil for a contact that is not in the list.
    var holds: (Roster.Item?) -> Bool
    var wait: DeliveryWait
  }

  /// The number of running commands for each contact.
  private var changing: [JID: Int] = [:]
  /// The number of running commands that unblock all contacts.
  private var unblockingAll = 0
  private var waits: [Wait] = []

  /// Whether a command on this device is changing the contact.
  func contains(_ jid: JID) -> Bool { changing[jid] != nil }

  /// Whether a blocklist push results from a command on this device.
  func contains(_ push: BlockList.Push) -> Bool {
    switch push {
    case .block(let jids), .unblock(let jids): jids.contains(where: contains)
    case .unblockAll: unblockingAll > 0
    }
  }

  /// - Parameter jid: the contact to change; nil where all contacts are unblocked.
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

  /// Adds a wait that ends when the contact is in the wanted state. The caller must call ``remove(_:)`` afterwards.
  func add(_ jid: JID, _ holds: @escaping (Roster.Item?) -> Bool) -> DeliveryWait {
    let wait = DeliveryWait(["push"])
    waits.append(Wait(jid: jid, holds: holds, wait: wait))
    return wait
  }

  func remove(_ wait: DeliveryWait) { waits.removeAll { $0.wait === wait } }

  /// Called when a contact was stored as the server reports it; `item` is nil for a contact that was removed.
  func stored(_ jid: JID, _ item: Roster.Item?) {
    for wait in waits where wait.jid == jid && wait.holds(item) { wait.wait.end() }
  }

  /// Ends all waits when the session has ended for good.
  func endWaits() {
    for wait in waits { wait.wait.end() }
  }
}
