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

/// The messages that this device has accepted and that the server does not have yet.
///
/// What is to be sent is stored first, handed to the stream in the order in which it was accepted, and belongs to the history
/// when the server has acknowledged it.
final class Outbox {
  unowned let session: Session
  let context: SessionContext
  private let queue: MessageQueue
  private let archive: MessageArchive
  /// The stream that was bound last.
  private var last: BoundSession?
  /// Messages are handed to the stream: what may have to go before them has gone.
  private var isOpen = false
  /// Messages on their way to the present stream and from there to the server.
  private var window = SendWindow()
  /// There may be messages in the outbox that are not in the ``window``, and never were.
  private var hasQueued = true
  /// They are being read from the disk.
  private var isLoading = false
  /// What is known of the messages that were handed to the streams before the present one.
  private var earlier = EarlierStreams()
  /// Ends when the stream takes no more.
  private var sending: Task<Void, Never>?
  /// Until when messages were handed to some stream.
  private(set) var lastSend: ContinuousClock.Instant?
  /// Who waits for the server to have a message.
  private var waits = DeliveryWaits()
  /// Who waits for its recipient to have it.
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

  /// What a resumption of an earlier agent's stream tells about.
  func restore(_ ids: Set<String>?) {
    lastSend = .now
    if let ids { earlier.restored = ids }
  }

  /// The session of the last stream is over for good.
  func forgetRestored() { earlier.restored = nil }

  /// Returns when the stream before takes no more: that is not in flight.
  func handedOver() async { await sending?.value }

  /// Receipts and the like are not.
  func isInFlight(_ stanza: SentStanza) -> Bool { stanza.id.map(window.isInFlight) == true }

  /// What the new stream tells of the messages that were handed to earlier ones.
  func settlement(of stream: BoundSession) -> OutboxSettlement {
    let settlement = earlier.settlement(
      window, resumes: stream.stream.configuration.resuming != nil, stream.bound)
    window = SendWindow()
    return settlement
  }

  /// The server has these.
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
    // What is to be stored of them need not be waited for.
    handOver()
  }

  // MARK: Handing over

  /// Hands the next messages to the stream, where one takes them.
  func handOver() {
    guard isOpen, sending == nil, let stream,
      window.hasReady || hasQueued, window.hasRoom
    else { return }
    sending = session.start { await $0.messages.outbox.handOverAll(to: stream) }
  }

  private func handOverAll(to stream: BoundSession) async {
    await handOver(to: stream)
    sending = nil
    // The stream may be another one by now.
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
        // The end of the stream is an event of its own. What was handed over before it is settled then.
        if error.code == .notLoggedIn { window.requeue(messages) }
        return
      }
      queue.append(.streamChanged, of: stream)
      if await stream.stream.management?.isEnabled != true { confirmByPing(messages.map(\.id), on: stream) }
    }
  }

  /// Takes messages from the disk that have never been handed over; false where there are no more.
  private func loadQueued(for stream: BoundSession) async -> Bool {
    let name = context.account.description
    let since = archive.position
    let room = window.room
    // What is accepted meanwhile is queued behind these, and sets this again.
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
      context.log.error("outbox", metadata: ["account": "\(context.account)", "failure": "\(error.message)"])
      hasQueued = true
      return false
    }
  }

  /// A server that does not count stanzas has got those before a ping when it answers that.
  private func confirmByPing(_ ids: [String], on stream: BoundSession) {
    session.start { session in
      guard (try? await Ping.send(on: stream, timeout: .seconds(60))) != nil else { return }
      for id in ids { session.messages.queue.append(.acknowledged(id), of: stream) }
    }
  }

  /// Nothing is handed over until it is known what has become of what was.
  func suspend() {
    if isOpen { lastSend = .now }
    isOpen = false
  }

  /// From now on messages are handed to the stream: first these, which were handed to an earlier one.
  func open(_ again: [OutboxMessage] = []) {
    window = SendWindow(ready: again)
    earlier.handedOverAgain()
    hasQueued = true
    isOpen = true
    handOver()
  }

  // MARK: Accepting

  /// Stores messages in the outbox; gives the ids of those that the server has already, and what their recipients
  /// have told of them.
  func accept(
    _ messages: [OutboxMessage], durably: Bool
  ) async throws(Failure) -> [(String, ReceiptEvent?)] {
    // What nothing is before may be handed over at once.
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
      // They are accepted all the same: what may have been handed over is looked up when the next stream begins.
      if isDirect { try? await putBack(accepted) }
      hasQueued = true
    }
    return sent
  }

  /// The stream that they were meant for has ended before they could be handed to it.
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

  /// Messages are stored, and what has become of those of the outbox.
  func apply(_ outcome: MessageBatch.Outcome) {
    for id in outcome.settled { finish(id) }
    for receipt in outcome.receipts {
      receiptWaits.done(receipt.id, receipt.kind == .failed ? Failure(receipt) : nil)
    }
  }

  /// The server has the message.
  func finish(_ id: String) {
    window.remove(id)
    waits.done(id)
  }

  /// The message will not be sent.
  func cancel(_ id: String) {
    let failure = Failure(.cancelled, stage: .request, detail: .text(id))
    waits.done(id, failure)
    receiptWaits.done(id, failure)
  }

  /// Everything is deleted that was stored of the account's messages.
  func forget() {
    window = SendWindow()
    hasQueued = true
    earlier = EarlierStreams()
    lastSend = nil
  }
}
