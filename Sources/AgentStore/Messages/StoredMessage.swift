import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza

/// A message in the local store, as clients of the agent see it.
package struct StoredMessage: Sendable, Equatable {
  package enum Direction: Int, Sendable { case received, sent }

  /// The delivery state of a message sent by this device. States below 0 form the outbox.
  package enum Delivery: Int, Sendable {
    /// The message was never handed to a server.
    case queued = -2
    /// The message may have reached the server, which has not acknowledged it.
    case handedOver
    /// The message was not sent by this device.
    case elsewhere
    /// The server has it.
    case sent
    /// A client of the recipient has the message.
    case delivered
    /// The recipient has displayed the message.
    case displayed
    /// The message was refused.
    case failed
  }

  package var direction: Direction
  /// The sender, by which copies are compared: a bare JID; in a room, the occupant JID.
  package var sender: String
  /// The time of sending in seconds since 1970.
  package var time: Double
  /// The `id` attribute of the stanza.
  package var id: String?
  package var originID: String?
  /// The ID in the account's archive.
  package var archiveID: String?
  package var from: String?
  package var to: String?
  package var type = Message.Kind.normal
  package var body: String?
  package var subject: String?
  package var thread: String?
  var isCarbon = false
  var isDelayed = false
  var isEncrypted = false
  /// The ID of the earlier message from the same sender that this one replaces or retracts.
  package var replaces: String?
  package var retracts: String?
  /// The server's receipt for a message of this device has the cursor after the message's.
  package var delivery = Delivery.elsewhere
  /// Whether the sender has retracted the message, so that its contents are deleted.
  var isRetracted = false
  /// Whether the contents are those of a correction. Computed for readers and not stored.
  var isEdited = false
  /// How this copy of the message has arrived; nil where there can be only one. Not stored.
  package var copy: Copy?
  /// Whether the account has sent the message to itself. Not stored.
  var isToOneself = false
  /// Whether the server has not confirmed yet that ``archiveID`` is its own: the ID is stored but not published. Not
  /// stored.
  package var isArchiveIDClaimed = false
  /// Why the message was refused, or why the message that it answers was.
  package var refusal: MessageEvent.Refusal?

  /// The events of the message: the message itself and, for a message of this device, the server's receipt.
  package func events(account: String, cursor: Int64) -> [Event] {
    [event(account: account, cursor: cursor), receipt(account: account, cursor: cursor)].compactMap(\.self)
  }

  /// Whether there is a server's receipt, because this device has sent the message.
  package var hasReceipt: Bool { delivery != .elsewhere && id != nil }

  /// The server's receipt; nil where this device has not sent the message.
  ///
  /// - Parameter cursor: the cursor of the message.
  package func receipt(account: String, cursor: Int64) -> Event? {
    guard hasReceipt, let id else { return nil }
    let server = sender.split(separator: "@").last.map(String.init) ?? sender
    let receipt = ReceiptEvent(id: id, kind: .server, from: server)
    let time = Timestamp.text(Date(timeIntervalSince1970: time))
    return Event(account: account, time: time, cursor: cursor + 1, body: .receipt(receipt))
  }

  package func event(account: String, cursor: Int64) -> Event {
    var message = MessageEvent(
      id: id ?? originID, stanzaId: isArchiveIDClaimed ? nil : archiveID, from: from, to: to,
      direction: direction == .sent ? .out : .in, type: type.rawValue, body: body, subject: subject,
      thread: thread, carbon: isCarbon, delayed: isDelayed, encrypted: isEncrypted, replaces: replaces,
      retracts: retracts)
    if isRetracted { message.retracted = true }
    if isEdited { message.edited = true }
    message.error = refusal
    return Event(
      account: account, time: Timestamp.text(Date(timeIntervalSince1970: time)), cursor: cursor,
      body: .message(message))
  }
}
