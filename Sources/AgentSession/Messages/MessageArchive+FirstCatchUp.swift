import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import XMPP
import XMPPClient
import XMPPFeatures

// At the first login of a device, the unread messages are fetched from the archive, published and counted as unread.
// Servers that archive messages do not send the same messages as offline messages (XEP-0386 §3.2).

extension MessageArchive {
  /// Reads the wanted part of the archive if nothing was read before, and stores it in one transaction: an agent that
  /// is killed meanwhile starts again from the beginning.
  func catchUpFirst(on stream: BoundSession) async {
    guard position == nil, await hasArchive(stream) else { return }
    var first = FirstCatchUp(own: context.account, now: context.clock.now())
    guard let page = first.next([:]), await read(page, of: &first, on: stream) else { return }
    await conversations.loaded(within: 5)
    let markers = await displayedMarkers()
    while let page = first.next(markers), await read(page, of: &first, on: stream) {}
    guard stream.isCurrent, position == nil, let position = first.position else {
      return
    }
    do throws(Failure) {
      try await save(first, markers, through: position)
    } catch {
      context.report("archive", error)
    }
  }

  private func read(
    _ page: ArchivePage, of first: inout FirstCatchUp, on stream: BoundSession
  ) async -> Bool {
    let wanted = ArchiveReading(page: page, isKept: true, collected: [])
    guard let reading = await read(wanted, on: stream) else { return false }
    first.add(reading.page, reading.collected ?? [])
    session.ask { $0.beginning(of: stream) }?.add()
    return true
  }

  private func displayedMarkers() async -> FirstCatchUp.Markers {
    let name = context.account.description
    let rows = try? await context.localStore.read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT jid, displayed FROM conversations WHERE account = ? AND displayed IS NOT NULL",
        arguments: [name]
      ).map { ($0["jid"] as String, $0["displayed"] as String) }
    }
    return Dictionary(rows ?? []) { $1 }
  }

  private func save(
    _ first: FirstCatchUp, _ markers: FirstCatchUp.Markers, through position: String
  ) async throws(Failure) {
    let name = context.account.description
    let (own, now) = (own, context.clock.now())
    let (past, news) = first.sorted(markers)
    let batch = MessageBatch(archived: news, account: context.account, own: own, now: now)
    let reservation = context.hub.reserve(batch.maximumEvents)
    let outcome: MessageBatch.Outcome
    let read: Int
    do throws(Failure) {
      (outcome, read) = try await context.localStore.change(durably: true) { database in
        let old = past.compactMap { $0.stored(own: own, hasArchive: true, now: now) }
        let read = try StoredMessage.insertPast(old, name, database)
        let outcome = try batch.store(under: reservation.cursors, database)
        for jid in try StoredConversation.unresolved(of: name, database) {
          var stored = try StoredConversation.load(jid, of: name, database)
          guard let id = stored.displayed, try stored.markRead(through: id, name, database) else { continue }
          try stored.save(jid, of: name, database)
        }
        if let start = first.start { try ArchiveStart.save(start, of: name, database) }
        try StreamRecord.save(archivePosition: position, of: name, database)
        return (outcome, read)
      }
    } catch {
      context.hub.fulfil(reservation, with: [])
      throw error
    }
    context.hub.fulfil(reservation) { outcome.events }
    setPosition(position)
    session.ask { $0.online?.beginning }?.add(outcome.waited.merging([.roaming: read], uniquingKeysWith: +))
    session.ask { $0.messages.outbox.apply(outcome) }
  }
}
