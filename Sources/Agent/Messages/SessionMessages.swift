import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

// What arrives is stored before the server may forget it, and told to watchers after that: each message once.

extension Session {
  /// A message of the bound stream.
  func received(_ message: Message) async {
    guard let online else { return }
    traffic.own = online.bound.jid
    enqueue(.arrived(message), online.stream)
    await roomForMessages()
  }

  /// Waits while too much is on its way to the disk.
  func roomForMessages() async {
    if traffic.unstored.hasRoom { return }
    await withCheckedContinuation { traffic.waitingForRoom.append($0) }
  }

  /// Somebody's stanza was too much to be read. A page of the archive would not be complete without it.
  func leftOut(_ stanza: XMLElement, _ excess: String, _ octets: Int) async {
    let from = stanza["from"].flatMap { try? JID($0) }?.description
    log.warning(
      "left out",
      metadata: [
        "account": "\(account)", "stanza": "\(stanza.name.local)",
        "from": "\(from ?? "")", "excess": "\(excess)",
      ])
    let refused = StanzaRefused(from: from, id: stanza["id"], size: octets, reason: excess)
    hub.publish(account: account.description, .stanzaRefused(refused))
    context.refusals.add(.stanza)
    if let message = Message(stanza), Archive.isClaimed(by: message) { await received(message) }
  }

  /// The events before were made of the stanzas up to `count`: the server is told when their messages are stored.
  func received(through count: UInt32, on stream: BoundSession) async {
    // Before anything is waited for: the number belongs to what has come before it, and not behind the stream's end.
    enqueue(.handled(count), stream)
    let canResume = await stream.stream.management?.canResume ?? false
    if stream.isCurrent { online?.isResumable = canResume }
  }

  /// The server has these.
  func acknowledged(_ stanzas: [SentStanza], by stream: BoundSession) {
    let messages = stanzas.filter { stanza in stanza.element.map { $0.name.local == "message" } ?? true }
    var sent: [OutboxMessage] = []
    func enqueueSent() {
      if !sent.isEmpty { enqueue(.sent(sent), stream) }
      sent = []
    }
    for id in messages.compactMap(\.id) {
      if let message = traffic.handover.remove(id) {
        sent.append(message)
      } else {
        enqueueSent()
        enqueue(.acknowledged(id), stream)
      }
    }
    enqueueSent()
    if messages.allSatisfy({ $0.id == nil }) { enqueue(.streamChanged, stream) }
    // What is to be stored of them need not be waited for.
    handOver()
  }

  /// Nothing comes from the stream any more. Returns when what has come is stored, so that the next stream can say
  /// how far it was; or when the store has failed, for which no session waits.
  func messagesEnded(of stream: BoundSession) async {
    enqueue(.ended, stream)
    endPageWait()
    if traffic.isStorePausing { await forgetEnded() } else { await traffic.backlog.empty(isReleasable: true) }
  }

  /// What could not be stored of streams that have ended comes again.
  private func forgetEnded() async {
    for stream in traffic.unstored.endedStreams where await stream.stream.management != nil {
      traffic.backlog.done(traffic.unstored.forget(stream))
    }
  }

  /// Returns when everything that has happened up to now is stored.
  func messagesStored() async { await traffic.backlog.empty() }

  func enqueue(_ item: MessageTraffic.Item, _ stream: BoundSession) {
    traffic.backlog.add()
    traffic.unstored.append(item, of: stream)
    guard !traffic.isStoring else { return }
    traffic.isStoring = true
    Task { await storeItems() }
  }

  /// What has come together is stored together.
  private func storeItems() async {
    var pause = 1
    while let (items, stream, isCounted) = await nextItems() {
      // What is not stored has not been read.
      var reading = traffic.reading
      let batch = MessageBatch(
        items, isCounted: isCounted, account: account, own: traffic.own ?? account,
        archiveIDs: traffic.archive.ids, reading: &reading, now: Date().timeIntervalSince1970)
      do throws(Failure) {
        try await store(batch, of: stream)
        pause = 1
      } catch {
        // The server keeps what is not confirmed, and what has come waits here.
        log.error(
          "messages are not stored", metadata: ["account": "\(account)", "failure": "\(error.message)"])
        traffic.unstored.putBack(items, of: stream)
        await forgetEnded()
        if await !stream.stream.isOpen { makeRoom() }
        traffic.isStorePausing = true
        traffic.backlog.release()
        try? await Task.sleep(for: .seconds(pause))
        traffic.isStorePausing = false
        pause = min(2 * pause, 30)
        continue
      }
      if let reading { traffic.reading?.keep(reading) }
      traffic.backlog.done(items.count)
      makeRoom()
      if traffic.reading?.page.isComplete == true { endPageWait() }
    }
    traffic.isStoring = false
  }

  private func makeRoom() {
    for waiter in traffic.waitingForRoom { waiter.resume() }
    traffic.waitingForRoom = []
  }

  /// The next items of one stream, and whether it counts; nil when there is nothing to do until more come.
  private func nextItems() async -> ([MessageTraffic.Item], BoundSession, isCounted: Bool)? {
    var seen: Int
    repeat {
      seen = traffic.unstored.count
      for stream in traffic.unstored.streams {
        let isCounted = await stream.stream.management != nil
        let items = traffic.unstored.take(of: stream, isCounted: isCounted)
        if !items.isEmpty { return (items, stream, isCounted) }
      }
    } while traffic.unstored.count != seen
    return nil
  }

  /// One transaction: the messages, what they settle, and how many stanzas the stream has handled with them.
  private func store(_ batch: MessageBatch, of stream: BoundSession) async throws(Failure) {
    let reservation = hub.reserve(batch.maximumEvents)
    let snapshot =
      batch.changesStream ? await stream.stream.management?.snapshot(handled: batch.handled) : nil
    let resumption = snapshot.flatMap { Resumption(stream: $0, presence: presence.shown).text }
    let position = traffic.isCaughtUp ? batch.newestArchiveID : batch.readArchiveID
    let name = account.description
    let outcome: MessageBatch.Outcome
    do throws(Failure) {
      outcome = try await localStore.change(durably: batch.hasMessages) { database in
        let outcome = try batch.store(under: reservation.cursors, database)
        if batch.changesStream { try StreamRecord.keep(resumption: resumption, of: name, database) }
        if let position {
          try StreamRecord.keep(archivePosition: position, of: name, database)
          if batch.settles { try OutboxMessage.markMissing(through: position, of: name, database) }
        }
        return outcome
      }
    } catch {
      hub.fulfil(reservation, with: [])
      throw error
    }
    hub.fulfil(reservation) { outcome.events }
    if let position { traffic.archivePosition = position }
    if let handled = batch.handled { await stream.confirm(through: handled) }
    for (reason, count) in batch.refused { context.refusals.add(reason, count) }
    if outcome.disbelieved > 0 { context.refusals.add(.receipt, outcome.disbelieved) }
    beginning(of: stream)?.add(outcome.waited)
    for id in outcome.settled { traffic.finish(id) }
    for receipt in outcome.receipts { traffic.take(receipt) }
    answer(outcome, on: stream)
    handOver()
  }

  /// Sends the receipts that were asked for, as soon as it is known who the contacts are.
  private func answer(_ outcome: MessageBatch.Outcome, on stream: BoundSession) {
    guard outcome.hasAnswers else { return }
    Task {
      await contacts.loaded()
      let answers = outcome.answers(for: presence.authorisation)
      if !answers.isEmpty { try? await stream.send(answers) }
    }
  }
}
