import AgentProtocol
import AgentStore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// The messages of a session: what its stream brings goes to the queue, from which it is stored before the server may forget
/// it; what is to be sent waits in the outbox; what has come meanwhile is in the archive.
final class Messages {
  private unowned let session: Session
  private let context: SessionContext
  private let presence: OwnPresence
  let queue: MessageQueue
  let archive: MessageArchive
  let outbox: Outbox
  let recovery: OutboxRecovery
  let writer: MessageWriter
  /// What an earlier agent has stored of its stream was read.
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

  /// A message of the bound stream.
  func receive(_ message: Message, on stream: BoundSession) async {
    // What comes behind the end of a stream is not counted by it, and comes again.
    guard stream.isCurrent else { return }
    queue.append(.arrived(message), of: stream)
    await queue.waitForRoom()
  }

  /// Somebody's stanza was too much to be read. A page of the archive would not be complete without it.
  func leftOut(_ stanza: XMLElement, _ excess: String, _ octets: Int, on stream: BoundSession) async {
    let from = stanza["from"].flatMap { try? JID($0) }?.description
    context.log.warning(
      "left out",
      metadata: [
        "account": "\(context.account)", "stanza": "\(stanza.name.local)",
        "from": "\(from ?? "")", "excess": "\(excess)",
      ])
    let refused = StanzaRefused(from: from, id: stanza["id"], size: octets, reason: excess)
    context.hub.publish(account: context.account.description, .stanzaRefused(refused))
    context.refusals.add(.stanza)
    if let message = Message(stanza), Archive.isClaimed(by: message) { await receive(message, on: stream) }
  }

  /// The events before were made of the stanzas up to `count`: the server is told when their messages are stored.
  func receive(through count: UInt32, on stream: BoundSession) async {
    // Before anything is waited for: the number belongs to what has come before it, and not behind the stream's end.
    queue.append(.handled(count), of: stream)
    let canResume = await stream.stream.management?.canResume ?? false
    if stream.isCurrent { session.ask { $0.online?.isResumable = canResume } }
  }

  /// Nothing comes from the stream any more. Returns when what has come is stored, as far as it can be.
  func ended(_ stream: BoundSession) async {
    archive.endPageWait()
    await queue.ended(stream)
  }

  /// Goes on where an earlier agent has stopped, as far as that was stored.
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
    // A presence on its way, as anything that has no id, may not have arrived.
    presence.restore(
      shown: resumption.stream.unacknowledged.contains(nil) ? nil : resumption.presence)
    outbox.restore(Set(resumption.stream.unacknowledged.compactMap(\.self)))
  }

  /// The session of the last stream is over for good.
  func endResumption() async {
    let name = context.account.description
    outbox.forgetRestored()
    _ = try? await context.localStore.change { try StreamRecord.save(resumption: nil, of: name, $0) }
  }

  /// Deletes everything that is stored of the account's messages.
  func forget() async throws(Failure) {
    try await context.localStore.forget(context.account.description)
    queue.forget()
    outbox.forget()
    archive.forget()
    isRestored = false
  }
}
