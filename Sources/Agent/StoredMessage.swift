import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza

/// A message as the local store keeps it and as clients of the agent see it.
struct StoredMessage: Sendable, Equatable {
  enum Direction: Int, Sendable { case received, sent }

  var direction: Direction
  /// Who has sent it, as far as copies of it are compared: a bare JID; in a room the occupant.
  var sender: String
  /// Seconds since 1970: when it was sent.
  var time: Double
  /// The attribute of the stanza.
  var id: String?
  var originID: String?
  /// Its id in the own account's archive.
  var archiveID: String?
  var from: String?
  var to: String?
  var type = Message.Kind.normal
  var body: String?
  var subject: String?
  var thread: String?
  var isCarbon = false
  var isDelayed = false
  var isEncrypted = false
  /// The id of an earlier message of the same sender that this one replaces, or takes back.
  var replaces: String?
  var retracts: String?
  /// It was in the outbox: the cursor after its own is that of the receipt of the server.
  var isFromOutbox = false
  /// Its sender has taken it back: nothing is known of what it said.
  var isRetracted = false
  /// What it says is a correction of what it said. That is found out for readers, and not kept.
  var isEdited = false
  /// How this copy of the message has come; nil where there is only one. This is not stored.
  var copy: Copy?
  /// The account has sent it to itself. This is not stored.
  var isToOneself = false
  /// The server has not said yet that ``archiveID`` is its own: the id is stored and not told. This is not stored.
  var isArchiveIDClaimed = false
  /// Why it was refused, or why what it answers was.
  var refusal: MessageEvent.Refusal?

  /// What is told of it: the message, and that the server has it where this device has sent it.
  func events(account: String, cursor: Int64) -> [Event] {
    [event(account: account, cursor: cursor), receipt(account: account, cursor: cursor)].compactMap(\.self)
  }

  /// It is told that the server has it: this device has sent it.
  var hasReceipt: Bool { isFromOutbox && id != nil }

  /// That the server has it; nil where this device has not sent it.
  ///
  /// - Parameter cursor: that of the message.
  func receipt(account: String, cursor: Int64) -> Event? {
    guard isFromOutbox, let id else { return nil }
    let server = sender.split(separator: "@").last.map(String.init) ?? sender
    let receipt = ReceiptEvent(id: id, kind: .server, from: server)
    let time = Timestamp.text(Date(timeIntervalSince1970: time))
    return Event(account: account, time: time, cursor: cursor + 1, body: .receipt(receipt))
  }

  func event(account: String, cursor: Int64) -> Event {
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
