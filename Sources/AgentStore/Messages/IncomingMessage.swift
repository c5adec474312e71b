import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// A message received on the stream: directly, or as a copy in a carbon or an archive result.
///
/// Pure. Copies are accepted only from the account's bare JID, because only its server may send them.
package struct IncomingMessage: Sendable, Equatable {
  package enum Source: Sendable, Equatable {
    case direct
    /// A carbon copy of a message that another device of the account has sent or received.
    case carbon(isSent: Bool)
    /// A message of the account's archive, with its archive ID.
    case archive(String)
  }

  package var message: Message
  package var source: Source
  /// The delay that the server has added outside the message.
  package var delay: Delay?

  /// A direct message or a carbon; nil for a forged carbon and for archive results, which belong to the request for
  /// them.
  package init?(_ message: Message, own: JID) {
    if Archive.isClaimed(by: message) { return nil }
    guard Carbons.isClaimed(by: message) else {
      self.init(message: message, source: .direct)
      return
    }
    guard let copy = Carbons.copy(in: message, own: own.bare) else { return nil }
    // Rooms send messages to every device directly (XEP-0280 §6.1).
    if copy.message.type == .groupchat || Self.isWrapper(copy.message) { return nil }
    self.init(message: copy.message, source: .carbon(isSent: copy.isSent), delay: copy.delay)
  }

  /// A result of the account's archive; nil where the message is neither from nor to the account.
  package init?(_ result: Archive.Result, own: JID) {
    let message = result.message
    let isOfAccount = [message.from, message.to].contains { ($0 ?? own).bare == own.bare }
    if Self.isWrapper(message) || !isOfAccount { return nil }
    self.init(message: result.message, source: .archive(result.id), delay: result.delay)
  }

  private init(message: Message, source: Source, delay: Delay? = nil) {
    self.message = message
    self.source = source
    self.delay = delay
  }

  private static func isWrapper(_ message: Message) -> Bool {
    Archive.isClaimed(by: message) || Carbons.isClaimed(by: message)
  }

  /// The stored form; nil for a message without content for a person.
  ///
  /// - Parameters:
  ///   - hasArchive: whether the account has an archive, so that archive IDs in its name are the server's.
  ///   - now: seconds since 1970.
  package func stored(own: JID, hasArchive: Bool, now: Double) -> StoredMessage? {
    let isEncrypted = message.payload.contains { Self.encryptions.contains($0.name) }
    let retracts = Retraction.retracted(by: message)
    guard
      message.body != nil || message.subject != nil || isEncrypted || message.type == .error
        || retracts != nil
    else { return nil }
    let own = own.bare
    let from = message.from ?? own
    let sender = message.type == .groupchat ? from : from.bare
    let isToOneself = isToOneself(own: own)
    let (time, isTold) = time(now: now)
    var stored = StoredMessage(
      direction: .received, sender: sender.description, time: time, id: Self.bounded(message.id),
      originID: StanzaID.origin(of: message), from: from.description, to: (message.to ?? own).description,
      type: message.type, body: message.body, subject: message.subject, thread: message.thread)
    stored.isEncrypted = isEncrypted
    stored.isDelayed = isTold
    stored.replaces = Correction.replaced(by: message)
    stored.refusal = message.error.map(MessageEvent.Refusal.init)
    if let retracts {
      stored.retracts = retracts
      // The body of a retraction is for clients that do not support retractions.
      stored.body = nil
    }
    stored.isToOneself = isToOneself
    switch source {
    case .direct:
      stored.copy = .direct
      if hasArchive { stored.archiveID = StanzaID.given(to: message, by: own) }
    case .carbon(let isSent):
      if isSent, !isToOneself { stored.direction = .sent }
      if hasArchive { stored.archiveID = StanzaID.given(to: message, by: own) }
      stored.isCarbon = true
      stored.copy = isSent ? .sent : .received
    case .archive(let id):
      if sender == own, !isToOneself { stored.direction = .sent }
      stored.archiveID = id
      stored.isDelayed = true
      stored.copy = .archived
    }
    return stored
  }

  /// The place where the message has waited at the server; nil for a live message.
  package var part: SyncPart? {
    switch source {
    case .archive: .roaming
    case .direct: Delay(of: message) == nil ? nil : .offline
    case .carbon: nil
    }
  }

  /// Whether the account has sent the message to itself. Without a recipient, it is for the sender's account (RFC 6120
  /// §10.3.1).
  func isToOneself(own: JID) -> Bool {
    message.from?.bare == own.bare && message.to.map { $0.bare == own.bare } ?? true
  }

  /// The time of sending in seconds since 1970, and whether it was given in the message.
  package func time(now: Double) -> (seconds: Double, isTold: Bool) {
    let stamp = (delay ?? Delay(of: message))?.stamp.timeIntervalSince1970
    // A time in the future comes from a wrong clock or a lying peer.
    let sent = stamp.flatMap { (0...now + 60).contains($0) ? min($0, now) : nil }
    return (sent ?? now, sent != nil)
  }

  private static func bounded(_ id: String?) -> String? {
    id.flatMap { $0.utf8.count <= StanzaID.maximumLength ? $0 : nil }
  }

  /// The payloads that stand for an end-to-end encrypted body.
  private static let encryptions: Set<XMLName> = [
    XMLName("encryption", "urn:xmpp:eme:0"), XMLName("encrypted", "eu.siacs.conversations.axolotl"),
    XMLName("encrypted", "urn:xmpp:omemo:2"), XMLName("x", "jabber:x:encrypted"),
    XMLName("openpgp", "urn:xmpp:openpgp:0"),
  ]
}

extension MessageEvent.Refusal {
  /// The part of a stanza error that is stored.
  package init(_ error: StanzaError) {
    self.init(
      condition: String(error.condition.rawValue.prefix(Failure.maximumText)),
      text: error.text.map { String($0.prefix(Failure.maximumText)) })
  }
}
