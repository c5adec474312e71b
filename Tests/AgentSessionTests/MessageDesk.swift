import AgentProtocol
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

/// Messages that come to an account, with a local store and no server.
struct MessageDesk {
  let directory: TemporaryDirectory
  let store: LocalStore
  let own: JID
  let cursor = Counter()

  actor Counter {
    var last: Int64 = 0
    func next(_ count: Int) -> Range<Int64> {
      defer { last += Int64(count) }
      return last + 1..<last + 1 + Int64(count)
    }
  }

  init() throws {
    directory = try TemporaryDirectory()
    store = try LocalStore(path: directory.paths.database)
    own = try JID("alice@im.example/desk")
  }

  @discardableResult
  func take(_ xml: String..., archiveIDs: ArchiveIDs = .ignored) async throws
    -> MessageBatch.Outcome
  {
    try await take(xml.map { .arrived(try message($0)) } + [.handled(1)], archiveIDs: archiveIDs)
  }

  func take(
    _ items: [MessageItem], isCounted: Bool = true,
    archiveIDs: ArchiveIDs = .ignored
  ) async throws -> MessageBatch.Outcome {
    var reading: ArchiveReading?
    let batch = MessageBatch(
      items, isCounted: isCounted, account: own.bare, own: own, archiveIDs: archiveIDs, reading: &reading,
      now: 1_800_000_000)
    let cursors = await cursor.next(batch.maximumEvents)
    let outcome = try await store.change { try batch.store(under: cursors, $0) }
    #expect(outcome.events.count <= batch.maximumEvents)
    return outcome
  }

  /// Takes messages out of the archive.
  func read(_ messages: [(id: String, xml: String)]) async throws -> MessageBatch.Outcome {
    var page = ArchivePage(.after(nil), maximum: 100)
    let found = try messages.compactMap { id, xml in
      let item = try message(
        "<message to='\(own)'><result xmlns='urn:xmpp:mam:2' queryid='\(page.id)' id='\(id)'><forwarded "
          + "xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='2027-01-15T08:00:00Z'/>"
          + "\(xml)</forwarded></result></message>")
      return page.collect(item, own: own).result.flatMap { IncomingMessage($0, own: own) }
    }
    #expect(found.count == messages.count)
    let batch = MessageBatch(archived: found, account: own.bare, own: own, now: 1_800_000_000)
    let cursors = await cursor.next(batch.maximumEvents)
    return try await store.change { try batch.store(under: cursors, $0) }
  }

  /// Sends to bob under an id; acknowledged unless it is to wait.
  func send(_ id: String, to: String = "bob@im.example", isAcknowledged: Bool = true) async throws {
    let message = OutboxMessage(id: id, to: try JID(to), body: "x", accepted: 5)
    try await store.change { _ = try message.accept("alice@im.example", own: "alice@im.example", $0) }
    if isAcknowledged { _ = try await take([.acknowledged(id)]) }
  }

  func receipts(_ events: [Event]) -> [ReceiptEvent] {
    events.compactMap { if case .receipt(let receipt) = $0.body { receipt } else { nil } }
  }

  func received(_ id: String, from: String, _ attributes: String = "") -> String {
    "<message from='\(from)' \(attributes)><received xmlns='urn:xmpp:receipts' id='\(id)'/></message>"
  }
}

extension Event {
  var message: MessageEvent? {
    if case .message(let message) = body { message } else { nil }
  }
}
