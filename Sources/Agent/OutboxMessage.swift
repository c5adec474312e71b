import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// A message that the agent has accepted and that the server is not known to have.
struct OutboxMessage: Sendable, Equatable {
  /// Order of acceptance.
  var position: Int64 = 0
  /// Id of the stanza and its origin-id (XEP-0359): the same at every attempt.
  var id: String
  var to: JID
  var type = Message.Kind.chat
  var body: String?
  var subject: String?
  var thread: String?
  /// The id of the message that it corrects, and what is wanted until that is known.
  var replaces: String?
  var corrects: OutgoingMessage.Correction?
  /// Clients of its recipient are asked to confirm it.
  var asksReceipt = true
  /// Seconds since 1970.
  var accepted: Double
  /// It may have been handed to a server.
  var isSent = false
  /// It was handed to an earlier stream, and is handed over again.
  var isAgain = false
  /// What was the newest of the own archive when it was handed over: the message is behind it, if it is there.
  /// nil: not known.
  var since: String?

  /// Of its text.
  var octets: Int { [body, subject, thread].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }

  /// - Parameters:
  ///   - isAgain: it says when it was accepted (XEP-0203), since it was sent before or had to wait.
  ///   - isKnown: nobody sends it a second time under its id without knowing that.
  ///   - own: the account: what is for one of its other devices is for that one alone.
  func element(isAgain: Bool, isKnown: Bool = true, own: JID) -> XMLElement {
    var message = Message(type: type, to: to, id: id, body: body)
    message.subject = subject
    message.thread = thread
    // No server changes the id on the way; what a repeat repeats is to be told, and a room has ids of its own.
    if isAgain || !isKnown || type == .groupchat || StanzaID.unique(id) == nil {
      message.payload.append(StanzaID.origin(id))
    }
    if asksReceipt, type.canBeConfirmed { message.payload += [Receipts.request, ChatMarkers.request] }
    if let replaces { message.payload.append(Correction.element(of: replaces)) }
    if to.bare == own.bare, !to.isBare { message.payload += Hints.oneCopy }
    if isAgain {
      message.payload.append(Delay(stamp: Date(timeIntervalSince1970: accepted)).element)
    }
    return message.element
  }

  /// The message as it is kept when the server has it.
  ///
  /// - Parameter own: the account's bare JID.
  func stored(own: String) -> StoredMessage {
    var message = StoredMessage(
      direction: .sent, sender: own, time: accepted, id: id, originID: id, from: own, to: to.description,
      type: type, body: body, subject: subject, thread: thread)
    message.isFromOutbox = true
    message.replaces = replaces
    return message
  }
}

extension Message.Kind {
  /// One recipient is to answer it.
  var canBeConfirmed: Bool { self == .chat || self == .normal }
}
