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

/// The messages that this device has accepted and the server has not acknowledged.
///
/// A message is stored first, sent in the order of acceptance, and belongs to the history once the server has
/// acknowledged it.
package final class Outbox {
  unowned let session: Session
  let context: SessionContext
  private let queue: MessageQueue
  private let archive: MessageArchive
  /// The stream that was bound last.
  private var last: BoundSession?
  /// Whether messages are sent, which starts once older messages are settled.
  private var isOpen = false
  /// The messages that the current stream is to send or has sent without an acknowledgement.
  private var window = SendWindow()
  /// Whether the stored outbox may contain messages that were never in the ``window``.
  private var hasQueued = true
  /// Whether those messages are being read from the disk.
  private var isLoading = false
  /// The state of the messages that were sent over earlier streams.
  private var earlier = EarlierStreams()
  /// The task that sends; it ends when the stream takes no more.
  private var sending: Task<Void, Never>?
  /// When messages were last sent over some stream.
  private(set) var lastSend: ContinuousClock.Instant?
  /// The commands that wait for the server's acknowledgement.
  private var waits = DeliveryWaits()
  /// The commands that wait for the recipient's receipt.
  private var receiptWaits = DeliveryWaits()

  init(of session: Session, _ context: SessionContext, _ queue: MessageQueue, _ archive: MessageArchive) {
    self.session = session
    self.context = context
    self.queue = queue
    self.archive = archive
  }

  /// The full JID of the last stream.
  var own: JID { last?.jid ?? context.account }

  /// The bound stream; nil while there is none.
  var stream: BoundSession? { last.flatMap { $0.isCurrent ? $0 : nil } }

  // MARK: A stream

  /// A stream is bound, and nothing has come on it yet.
  func begin(_ stream: BoundSession) {
    last = stream
    earlier.begin()
  }

  /// Sets the IDs of messages that the resumption of an earlier agent's stream settles.
  func restore(_ ids: Set<String>?) {
    lastSend = .now
    if let ids { earlier.restored = ids }
  }

  /// Called when the session of the last stream cannot be resumed.
  func forgetRestored() { earlier.restored = nil }

  /// Returns when the previous stream takes no more messages; messages that it did not take are not in flight.
  func handedOver() async { await sending?.value }

  /// Whether a stanza is an outbox message in flight; receipts and the like are not.
  func isInFlight(_ stanza: SentStanza) -> Bool { stanza.id.map(window.isInFlight) == true }

  /// What the new stream tells about the messages of earlier streams.
  func settlement(of stream: BoundSession) -> OutboxSettlement {
    let settlement = earlier.settlement(
      window, resumes: stream.stream.configuration.resuming != nil, stream.bound)
    window = SendWindow()
    return settlement
  }

  /// Called when the server has acknowledged stanzas.
  func acknowledged(_ stanzas: [SentStanza], by stream: BoundSession) {
    let messages = stanzas.filter { stanza in stanza.element.map { $0.name.local == "message" } ?? true }
    var sent: [OutboxMessage] = []
    func enqueueSent() {
      if !sent.isEmpty { queue.append(.sent(sent), of: stream) }
      sent = []
    }
    for id in messages.compactMap(\.id) {
      if let message = window.remove(id) {
        sent.append(message)
      } else {
        enqueueSent()
        queue.append(.acknowledged(id), of: stream)
      }
    }
    enqueueSent()
    if messages.allSatisfy({ $0.id == nil }) { queue.append(.streamChanged, of: stream) }
    // Sending may continue before the acknowledgements are stored.
    handOver()
  }

  // MARK: Sending

  /// Sends the next messages if the stream can take them.
  func handOver() {
    guard isOpen, sending == nil, let stream,
      window.hasReady || hasQueued, window.hasRoom
    else { return }
    sending = session.start { await $0.messages.outbox.handOverAll(to: stream) }
  }

  private func handOverAll(to stream: BoundSession) async {
    await handOver(to: stream)
    sending = nil
    // The stream may have been replaced meanwhile.
    if !stream.isCurrent { handOver() }
  }

  private func handOver(to stream: BoundSession) async {
    while isOpen, stream.isCurrent, window.hasRoom {
      let messages = window.next()
      if messages.isEmpty {
        guard hasQueued, await loadQueued(for: stream) else { return }
        continue
      }
      let now = Date().timeIntervalSince1970
      do throws(XMPPError) {
        try await stream.send(
          messages.map { $0.element(isAgain: $0.isAgain || now - $0.accepted > 10, own: context.account) })
      } catch {
        // The end of the stream is handled elsewhere, and settles the messages that were sent before.
        if error.code == .notLoggedIn { window.requeue(messages) }
        return
      }
      queue.append(.streamChanged, of: stream)
      if await stream.stream.management?.isEnabled != true { confirmByPing(messages.map(\.id), on: stream) }
    }
  }

  /// Reads messages from the disk that were never sent; returns false where there are no more.
  private func loadQueued(for stream: BoundSession) async -> Bool {
    let name = context.account.description
    let since = archive.position
    let room = window.room
    // A message that is accepted meanwhile sets this again.
    hasQueued = false
    isLoading = true
    defer { isLoading = false }
    do throws(Failure) {
      let (messages, areAll) = try await context.localStore.change { database in
        let queued = try OutboxMessage.queued(of: name, upTo: room, database)
        try OutboxMessage.markSent(queued.messages.map(\.position), since: since, database)
        return queued
      }
      if !areAll { hasQueued = true }
      guard isOpen, stream.isCurrent else {
        hasQueued = true
        try await putBack(messages)
        return false
      }
      window.append(messages)
      return !messages.isEmpty || hasQueued
    } catch {
      context.report("outbox", error)
      hasQueued = true
      return false
    }
  }

  /// Confirms messages at a server that does not count stanzas: its answer to a ping shows that it has the stanzas
  /// before the ping.
  private func confirmByPing(_ ids: [String], on stream: BoundSession) {
    session.start { session in
      guard (try? await Ping.send(on: stream, timeout: .seconds(60))) != nil else { return }
      for id in ids { session.messages.queue.append(.acknowledged(id), of: stream) }
    }
  }

  /// Suspends sending until earlier messages are settled.
  func suspend() {
    if isOpen { lastSend = .now }
    isOpen = false
  }

  /// Resumes sending, starting with these messages of earlier streams.
  func open(_ again: [OutboxMessage] = []) {
    window = SendWindow(ready: again)
    earlier.handedOverAgain()
    hasQueued = true
    isOpen = true
    handOver()
  }

  // MARK: Accepting

  /// Stores messages in the outbox; returns the IDs of those that the server has already, each with its receipt.
  func accept(
    _ messages: [OutboxMessage], durably: Bool
  ) async throws(Failure) -> [(String, ReceiptEvent?)] {
    // A message may be sent at once if no other waits before it.
    let stream = isOpen && !hasQueued && !isLoading ? stream : nil
    let since = archive.position
    let name = context.account.description
    let own = own.bare.description
    let isDirect = stream != nil && window.hasRoom(for: messages)
    let (accepted, sent) = try await context.localStore.change(durably: durably) { database in
      let ids = messages.map(\.id)
      var messages = messages
      for index in messages.indices {
        messages[index].isSent = isDirect
        messages[index].since = isDirect ? since : nil
      }
      if Set(ids).count == ids.count, messages.allSatisfy({ $0.corrects == nil }),
        try !OutboxMessage.mayBeKnown(ids, of: name, own: own, database)
      {
        return (try OutboxMessage.insert(messages, name, database), [(String, ReceiptEvent?)]())
      }
      var accepted: [OutboxMessage] = []
      var sent: [(String, ReceiptEvent?)] = []
      for var message in messages {
        if let target = message.corrects {
          message = try message.correcting(target, name, own: own, database)
        }
        switch try message.accept(name, own: own, database) {
        case .accepted(let position):
          message.position = position
          accepted.append(message)
        case .waiting: break
        case .sent(let receipt): sent.append((message.id, receipt))
        case .idTaken:
          throw Failure(.invalidParameter, stage: .input, detail: .session(.messageIDTaken, message.id))
        }
      }
      return (accepted, sent)
    }
    if isDirect, isOpen, stream?.isCurrent == true {
      window.append(accepted)
    } else {
      // The messages are accepted all the same: those that may have been sent are looked up when the next stream
      // begins.
      if isDirect { try? await putBack(accepted) }
      hasQueued = true
    }
    return sent
  }

  /// Marks messages as unsent, because the stream has ended before it took them.
  private func putBack(_ messages: [OutboxMessage]) async throws(Failure) {
    try await context.localStore.change { database in
      for message in messages { try message.markQueued(database) }
    }
  }

  // MARK: Waiting

  func wait(_ server: DeliveryWait, _ receipts: DeliveryWait? = nil) {
    waits.add(server)
    if let receipts { receiptWaits.add(receipts) }
  }

  func stopWaiting(_ server: DeliveryWait, _ receipts: DeliveryWait? = nil) {
    waits.remove(server)
    if let receipts { receiptWaits.remove(receipts) }
  }

  /// Applies the result of a stored batch to the outbox.
  func apply(_ outcome: MessageBatch.Outcome) {
    for id in outcome.settled { finish(id) }
    for receipt in outcome.receipts {
      receiptWaits.done(receipt.id, receipt.kind == .failed ? Failure(receipt) : nil)
    }
  }

  /// Called when the server has the message.
  func finish(_ id: String) {
    window.remove(id)
    waits.done(id)
  }

  /// Called when the message will not be sent.
  func cancel(_ id: String) {
    let failure = Failure(.cancelled, stage: .request, detail: .text(id))
    waits.done(id, failure)
    receiptWaits.done(id, failure)
  }

  /// Resets the outbox after all messages of the account were deleted.
  func forget() {
    window = SendWindow()
    hasQueued = true
    earlier = EarlierStreams()
    lastSend = nil
  }
}
