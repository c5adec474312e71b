import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// What came in a message of the stream: the message itself, or a copy of one.
///
/// Pure. What only the own server may send is believed from the own bare JID alone.
package struct IncomingMessage: Sendable, Equatable {
  package enum Source: Sendable, Equatable {
    case direct
    /// The server has copied it from another device of the account, which has sent or received it.
    case carbon(isSent: Bool)
    /// Of the account's archive, under this id.
    case archive(String)
  }

  package var message: Message
  package var source: Source
  /// What the server says of its time, beside what is in the message.
  package var delay: Delay?

  /// What is direct, or a carbon; nil for what claims to be the server's and is not. Results of the archive are for
  /// whoever has asked for them.
  package init?(_ message: Message, own: JID) {
    if Archive.isClaimed(by: message) { return nil }
    guard Carbons.isClaimed(by: message) else {
      self.init(message: message, source: .direct)
      return
    }
    guard let copy = Carbons.copy(in: message, own: own.bare) else { return nil }
    // Rooms send to every device by themselves (XEP-0280 §6.1).
    if copy.message.type == .groupchat || Self.isWrapper(copy.message) { return nil }
    self.init(message: copy.message, source: .carbon(isSent: copy.isSent), delay: copy.delay)
  }

  /// What is in the archive of the account is from it or to it.
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

  /// What is kept of it; nil for what says nothing to a person.
  ///
  /// - Parameters:
  ///   - hasArchive: the account has an archive, so that ids in its name are the server's own.
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
      // It is for clients that know of no retractions.
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

  /// Where it has waited for the account at its server; nil for what has just been sent.
  package var part: SyncPart? {
    switch source {
    case .archive: .roaming
    case .direct: Delay(of: message) == nil ? nil : .offline
    case .carbon: nil
    }
  }

  /// The account has sent it to itself. Without a recipient it is for the account of its sender (RFC 6120 §10.3.1).
  func isToOneself(own: JID) -> Bool {
    message.from?.bare == own.bare && message.to.map { $0.bare == own.bare } ?? true
  }

  /// When it was sent, in seconds since 1970, and whether somebody says so.
  package func time(now: Double) -> (seconds: Double, isTold: Bool) {
    let stamp = (delay ?? Delay(of: message))?.stamp.timeIntervalSince1970
    // A clock that is wrong, or a peer that lies: nothing comes from the future.
    let sent = stamp.flatMap { (0...now + 60).contains($0) ? min($0, now) : nil }
    return (sent ?? now, sent != nil)
  }

  private static func bounded(_ id: String?) -> String? {
    id.flatMap { $0.utf8.count <= StanzaID.maximumLength ? $0 : nil }
  }

  /// What stands for a message that only its recipient can read.
  private static let encryptions: Set<XMLName> = [
    XMLName("encryption", "urn:xmpp:eme:0"), XMLName("encrypted", "eu.siacs.conversations.axolotl"),
    XMLName("encrypted", "urn:xmpp:omemo:2"), XMLName("x", "jabber:x:encrypted"),
    XMLName("openpgp", "urn:xmpp:openpgp:0"),
  ]
}

extension MessageEvent.Refusal {
  /// What a peer has said, as much of it as is kept.
  package init(_ error: StanzaError) {
    self.init(
      condition: String(error.condition.rawValue.prefix(Failure.maximumText)),
      text: error.text.map { String($0.prefix(Failure.maximumText)) })
  }
}
