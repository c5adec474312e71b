import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// A message that the agent has accepted and that the server is not known to have: a row of the messages that waits.
package struct OutboxMessage: Sendable, Equatable {
  /// The key of its row: messages wait in the order of acceptance.
  package var position: Int64 = 0
  /// Id of the stanza and its origin-id (XEP-0359): the same at every attempt.
  package var id: String
  package var to: JID
  package var type = Message.Kind.chat
  package var body: String?
  package var subject: String?
  package var thread: String?
  /// The id of the message that it corrects, and what is wanted until that is known.
  package var replaces: String?
  package var corrects: OutgoingMessage.Correction?
  /// Clients of its recipient are asked to confirm it.
  package var asksReceipt = true
  /// Seconds since 1970.
  package var accepted: Double
  /// It may have been handed to a server.
  package var isSent = false
  /// It was handed to an earlier stream, and is handed over again.
  package var isAgain = false
  /// What was the newest of the own archive when it was handed over: the message is behind it, if it is there.
  /// nil: not known.
  package var since: String?

  package init(
    position: Int64 = 0, id: String, to: JID, type: Message.Kind = .chat, body: String? = nil,
    subject: String? = nil, thread: String? = nil, replaces: String? = nil,
    corrects: OutgoingMessage.Correction? = nil, asksReceipt: Bool = true, accepted: Double,
    isSent: Bool = false, isAgain: Bool = false, since: String? = nil
  ) {
    self.position = position
    self.id = id
    self.to = to
    self.type = type
    self.body = body
    self.subject = subject
    self.thread = thread
    self.replaces = replaces
    self.corrects = corrects
    self.asksReceipt = asksReceipt
    self.accepted = accepted
    self.isSent = isSent
    self.isAgain = isAgain
    self.since = since
  }

  /// Of its text.
  package var octets: Int { [body, subject, thread].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }

  /// - Parameters:
  ///   - isAgain: it says when it was accepted (XEP-0203), since it was sent before or had to wait.
  ///   - isKnown: nobody sends it a second time under its id without knowing that.
  ///   - own: the account: what is for one of its other devices is for that one alone.
  package func element(isAgain: Bool, isKnown: Bool = true, own: JID) -> XMLElement {
    var message = Message(type: type, to: to, id: id, body: body)
    message.subject = subject
    message.thread = thread
    // No server changes the id on the way; what a repeat repeats is to be told, and a room has ids of its own.
    if isAgain || !isKnown || type == .groupchat || StanzaID.unique(id) == nil {
      message.payload.append(StanzaID.origin(id))
    }
    if asksReceipt, type.canBeConfirmed { message.payload += [Receipts.request, ChatMarkers.request] }
    if let replaces { message.payload.append(Correction.element(of: replaces)) }
    if to.bare == own.bare, !to.isBare { message.payload += MessageHints.oneCopy }
    if isAgain {
      message.payload.append(Delay(stamp: Date(timeIntervalSince1970: accepted)).element)
    }
    return message.element
  }

  /// The message as it is kept now that the server has it.
  ///
  /// - Parameter own: the account's bare JID.
  package func stored(own: String) -> StoredMessage {
    var message = StoredMessage(
      direction: .sent, sender: own, time: accepted, id: id, originID: id, from: own, to: to.description,
      type: type, body: body, subject: subject, thread: thread)
    message.delivery = .sent
    message.replaces = replaces
    return message
  }
}

extension Message.Kind {
  /// One recipient is to answer it.
  var canBeConfirmed: Bool { self == .chat || self == .normal }
}
