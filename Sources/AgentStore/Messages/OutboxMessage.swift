import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// A message that the agent has accepted and the server has not acknowledged: a row with a `delivery` below 0.
package struct OutboxMessage: Sendable, Equatable {
  /// The key of its row; messages wait in the order of acceptance.
  package var position: Int64 = 0
  /// The stanza ID and origin-id (XEP-0359), the same at every attempt.
  package var id: String
  package var to: JID
  package var type = Message.Kind.chat
  package var body: String?
  package var subject: String?
  package var thread: String?
  /// The ID of the message that it corrects, and the requested correction until the ID is known.
  package var replaces: String?
  package var corrects: OutgoingMessage.Correction?
  /// Whether it asks the recipient's clients for a receipt.
  package var asksReceipt = true
  /// The time of acceptance in seconds since 1970.
  package var accepted: Double
  /// Whether it may have been handed to a server.
  package var isSent = false
  /// Whether it was handed to an earlier stream and is sent again.
  package var isAgain = false
  /// The newest archive ID when it was sent, which a copy in the archive must follow; nil where it was not known.
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

  /// The octets of its text.
  package var octets: Int { [body, subject, thread].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }

  /// - Parameters:
  ///   - isAgain: whether to add the time of acceptance (XEP-0203), because it was sent before or had to wait.
  ///   - isKnown: whether the outbox prevents a second message with its ID; otherwise it gets an origin-id.
  ///   - own: the account, whose own devices get a message for themselves alone.
  package func element(isAgain: Bool, isKnown: Bool = true, own: JID) -> XMLElement {
    var message = Message(type: type, to: to, id: id, body: body)
    message.subject = subject
    message.thread = thread
    // An origin-id identifies repeats even if a server or room changes the stanza ID.
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

  /// The message as stored once the server has it.
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
  /// Whether a single recipient can confirm it.
  var canBeConfirmed: Bool { self == .chat || self == .normal }
}
