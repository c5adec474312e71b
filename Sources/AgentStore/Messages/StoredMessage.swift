import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza

/// A message as the local store keeps it and as clients of the agent see it.
package struct StoredMessage: Sendable, Equatable {
  package enum Direction: Int, Sendable { case received, sent }

  /// How far a message has come that this device sends. Below 0, it waits in the outbox.
  package enum Delivery: Int, Sendable {
    /// It was never handed to a server.
    case queued = -2
    /// It may be at the server, which has not said so.
    case handedOver
    /// It was not sent by this device.
    case elsewhere
    /// The server has it.
    case sent
    /// A client of the recipient has it.
    case delivered
    /// The recipient has seen it.
    case displayed
    /// It was refused.
    case failed
  }

  package var direction: Direction
  /// Who has sent it, as far as copies of it are compared: a bare JID; in a room the occupant.
  package var sender: String
  /// Seconds since 1970: when it was sent.
  package var time: Double
  /// The attribute of the stanza.
  package var id: String?
  package var originID: String?
  /// Its id in the own account's archive.
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
  /// The id of an earlier message of the same sender that this one replaces, or takes back.
  package var replaces: String?
  package var retracts: String?
  /// The cursor after the one of a message that this device has sent is that of the receipt of the server.
  package var delivery = Delivery.elsewhere
  /// Its sender has taken it back: nothing is known of what it said.
  var isRetracted = false
  /// What it says is a correction of what it said. That is found out for readers, and not kept.
  var isEdited = false
  /// How this copy of the message has come; nil where there is only one. This is not stored.
  package var copy: Copy?
  /// The account has sent it to itself. This is not stored.
  var isToOneself = false
  /// The server has not said yet that ``archiveID`` is its own: the id is stored and not told. This is not stored.
  package var isArchiveIDClaimed = false
  /// Why it was refused, or why what it answers was.
  package var refusal: MessageEvent.Refusal?

  /// What is told of it: the message, and that the server has it where this device has sent it.
  package func events(account: String, cursor: Int64) -> [Event] {
    [event(account: account, cursor: cursor), receipt(account: account, cursor: cursor)].compactMap(\.self)
  }

  /// It is told that the server has it: this device has sent it.
  package var hasReceipt: Bool { delivery != .elsewhere && id != nil }

  /// That the server has it; nil where this device has not sent it.
  ///
  /// - Parameter cursor: that of the message.
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
