import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// Stores message items and then publishes them, each message once.
final class MessageWriter {
  private unowned let session: Session
  private let context: SessionContext
  private let queue: MessageQueue
  private let outbox: Outbox
  private let archive: MessageArchive
  private let presence: OwnPresence
  private let contacts: Contacts

  init(
    of session: Session, _ context: SessionContext, _ queue: MessageQueue, _ outbox: Outbox,
    _ archive: MessageArchive, _ presence: OwnPresence, _ contacts: Contacts
  ) {
    self.session = session
    self.context = context
    self.queue = queue
    self.outbox = outbox
    self.archive = archive
    self.presence = presence
    self.contacts = contacts
  }

  /// Stores the items in batches. Only the queue starts this function.
  func write() async {
    var pause = 1
    while let (items, stream, isCounted) = await queue.next() {
      // The results of a batch that could not be stored count as not read.
      var reading = archive.reading
      let batch = MessageBatch(
        items, isCounted: isCounted, account: context.account, own: outbox.own,
        archiveIDs: archive.support.ids, reading: &reading, now: Date().timeIntervalSince1970)
      do throws(Failure) {
        try await store(batch, of: stream)
        pause = 1
      } catch {
        // The server keeps unacknowledged messages, and the other items wait in the queue.
        context.report("messages could not be stored", error)
        await queue.failed(items, of: stream, pause: pause)
        pause = min(2 * pause, 30)
        continue
      }
      archive.stored(reading)
      queue.done(items.count)
      archive.endPageWaitIfComplete()
    }
  }

  /// Stores in one transaction the messages, the outbox messages that they settle, and the number of handled stanzas.
  private func store(_ batch: MessageBatch, of stream: BoundSession) async throws(Failure) {
    let reservation = context.hub.reserve(batch.maximumEvents)
    let snapshot =
      batch.changesStream ? await stream.stream.management?.snapshot(handled: batch.handled) : nil
    let resumption = snapshot.flatMap { Resumption(stream: $0, presence: presence.shown).text }
    let position = archive.isCaughtUp ? batch.newestArchiveID : batch.readArchiveID
    let name = context.account.description
    let outcome: MessageBatch.Outcome
    do throws(Failure) {
      outcome = try await context.localStore.change(durably: batch.hasMessages) { database in
        let outcome = try batch.store(under: reservation.cursors, database)
        if batch.changesStream { try StreamRecord.save(resumption: resumption, of: name, database) }
        if let position {
          try StreamRecord.save(archivePosition: position, of: name, database)
          if batch.settles { try OutboxMessage.markMissing(through: position, of: name, database) }
        }
        return outcome
      }
    } catch {
      context.hub.fulfil(reservation, with: [])
      throw error
    }
    context.hub.fulfil(reservation) { outcome.events }
    if let position { archive.setPosition(position) }
    if let handled = batch.handled { await stream.confirm(through: handled) }
    for (reason, count) in batch.refused { context.refusals.add(reason, count) }
    if outcome.disbelieved > 0 { context.refusals.add(.receipt, outcome.disbelieved) }
    session.ask { $0.beginning(of: stream) }?.add(outcome.waited)
    outbox.apply(outcome)
    answer(outcome, on: stream)
    outbox.handOver()
  }

  /// Sends the requested receipts as soon as the roster is known.
  private func answer(_ outcome: MessageBatch.Outcome, on stream: BoundSession) {
    if outcome.hasAnswers { session.start { await $0.messages.writer.sendAnswers(outcome, on: stream) } }
  }

  private func sendAnswers(_ outcome: MessageBatch.Outcome, on stream: BoundSession) async {
    await contacts.loaded()
    let answers = outcome.answers(for: presence.authorisation)
    if !answers.isEmpty { try? await stream.send(answers) }
  }
}
