import AgentProtocol
import AgentStore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// The messages of a session. Received messages go through the queue and are stored before the server is told so;
/// messages to send wait in the outbox; messages that were missed are in the archive.
package final class Messages {
  private unowned let session: Session
  private let context: SessionContext
  private let presence: OwnPresence
  let queue: MessageQueue
  package let archive: MessageArchive
  package let outbox: Outbox
  let recovery: OutboxRecovery
  let writer: MessageWriter
  /// Whether the stream data of an earlier agent was read.
  private var isRestored = false

  init(
    of session: Session, _ context: SessionContext, _ presence: OwnPresence, _ contacts: Contacts,
    _ conversations: Conversations, _ features: AccountFeatures
  ) {
    self.session = session
    self.context = context
    self.presence = presence
    queue = MessageQueue(of: session)
    archive = MessageArchive(of: session, context, queue, features, conversations)
    outbox = Outbox(of: session, context, queue, archive)
    recovery = OutboxRecovery(of: session, context, queue, outbox, archive)
    writer = MessageWriter(of: session, context, queue, outbox, archive, presence, contacts)
  }

  /// A stream is bound, and nothing has come on it yet.
  func begin(_ stream: BoundSession) {
    archive.begin(stream)
    outbox.begin(stream)
  }

  /// Handles a message from the bound stream.
  func receive(_ message: Message, on stream: BoundSession) async {
    // A stanza after the end of a stream is not counted and will be resent.
    guard stream.isCurrent else { return }
    queue.append(.arrived(message), of: stream)
    await queue.waitForRoom()
  }

  /// Called for a stanza that was too large to be read. An archive page is incomplete without it.
  func leftOut(_ stanza: XMLElement, _ excess: String, _ octets: Int, on stream: BoundSession) async {
    let from = stanza["from"].flatMap { try? JID($0) }?.description
    context.log.warning(
      "a stanza that is too large was dropped",
      metadata: [
        "account": "\(context.account)", "stanza": "\(stanza.name.local)",
        "from": "\(from ?? "")", "excess": "\(excess)",
      ])
    let refused = StanzaRefused(from: from, id: stanza["id"], size: octets, reason: excess)
    context.hub.publish(account: context.account.description, .stanzaRefused(refused))
    context.refusals.add(.stanza)
    if let message = Message(stanza), Archive.isClaimed(by: message) { await receive(message, on: stream) }
  }

  /// Called when every stanza up to `count` has been handed over; the server is told when their messages are stored.
  func receive(through count: UInt32, on stream: BoundSession) async {
    // Before any suspension, because the number belongs between these messages and the end of the stream.
    queue.append(.handled(count), of: stream)
    let canResume = await stream.stream.management?.canResume ?? false
    if stream.isCurrent { session.ask { $0.online?.resumptionChanged(to: canResume) } }
  }

  /// Called when a stream has ended. Returns when its messages are stored, or cannot be.
  func ended(_ stream: BoundSession) async {
    archive.endPageWait()
    await queue.ended(stream)
  }

  /// Restores the state that an earlier agent has stored.
  func restore() async {
    guard !isRestored else { return }
    isRestored = true
    let name = context.account.description
    guard let record = try? await context.localStore.change({ try StreamRecord.load(name, $0) }) else {
      return
    }
    archive.restore(record.archivePosition)
    outbox.restore(nil)
    guard let resumption = record.resumption.flatMap(Resumption.init),
      await session.ask({ $0.client }).restore(StreamManagement(resumption.stream))
    else { return }
    // Stanzas without an ID, such as presences, may not have arrived.
    presence.restore(
      shown: resumption.stream.unacknowledged.contains(nil) ? nil : resumption.presence)
    outbox.restore(Set(resumption.stream.unacknowledged.compactMap(\.self)))
  }

  /// Called when the session of the last stream cannot be resumed.
  func endResumption() async {
    let name = context.account.description
    outbox.forgetRestored()
    _ = try? await context.localStore.change { try StreamRecord.save(resumption: nil, of: name, $0) }
  }

  /// Deletes all stored messages of the account.
  func forget() async throws(Failure) {
    try await context.localStore.forget(context.account.description)
    queue.forget()
    outbox.forget()
    archive.forget()
    isRestored = false
  }
}
