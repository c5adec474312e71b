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

/// The account's archive at its server (XEP-0313), and how much of it is stored.
package final class MessageArchive {
  /// The messages requested per page; a server may return fewer.
  static let pageSize = 250
  /// How long a server may still process the input of a connection that was replaced; the results are added to the
  /// archive. After this time the server is regarded as done.
  private static let afterwork = Duration.seconds(5)

  unowned let session: Session
  let context: SessionContext
  private let queue: MessageQueue
  private let features: AccountFeatures
  let conversations: Conversations
  /// The stream that was bound last.
  private var last: BoundSession?
  private(set) var support = ArchiveSupport.unknown
  /// Whether all messages of the archive up to the next live one are stored.
  private(set) var isCaughtUp = false
  /// The time from which on the server is regarded as done with the input of an earlier connection.
  private var settled = ContinuousClock.now
  /// The ID of the message up to which the archive is stored; empty for an empty archive, nil while unknown.
  private(set) var position: String?
  /// The page that is being read.
  private(set) var reading: ArchiveReading?
  private var waitingForPage: DeliveryWait?
  /// The maximum number of pages read in one catch-up; the rest becomes a gap.
  var pagesToCatchUp = 2000
  /// Serialises the reading of pages.
  private let turns = Turns()

  init(
    of session: Session, _ context: SessionContext, _ queue: MessageQueue, _ features: AccountFeatures,
    _ conversations: Conversations
  ) {
    self.session = session
    self.context = context
    self.queue = queue
    self.features = features
    self.conversations = conversations
  }

  /// The full JID of the last stream.
  var own: JID { last?.jid ?? context.account }

  /// A stream is bound, and nothing has come on it yet.
  func begin(_ stream: BoundSession) {
    last = stream
    isCaughtUp = false
    settled = stream.stream.configuration.resuming == nil ? .now : .now + Self.afterwork
    if !stream.isResumed { support = .unknown }
  }

  /// Restores the position that an earlier agent has stored.
  func restore(_ position: String?) {
    self.position = position
    if position != nil { support = .known(true) }
  }

  /// Resets the state after all messages of the account were deleted.
  func forget() {
    support = .unknown
    isCaughtUp = false
    position = nil
  }

  /// Records that all messages up to this one are stored.
  func setPosition(_ position: String) { self.position = position }

  /// Records which results of the current page are stored.
  func stored(_ reading: ArchiveReading?) {
    if let reading { self.reading?.merge(reading) }
  }

  func endPageWaitIfComplete() {
    if reading?.page.isComplete == true { endPageWait() }
  }

  /// Whether the account has an archive at its server; false where the server does not tell.
  func hasArchive(_ stream: BoundSession) async -> Bool {
    switch support {
    case .known(let isThere): isThere
    // A position is known, so the archive existed before: reading it takes less time than waiting for the answer.
    case .unknown, .asked: if position != nil { true } else { await discover(stream) ?? false }
    }
  }

  /// Waits until the account's features are known; they are requested once.
  ///
  /// - Returns: whether the account has an archive; nil where the server does not answer.
  @discardableResult
  func discover(_ stream: BoundSession) async -> Bool? {
    ask(stream)
    switch support {
    case .known(let isThere): return isThere
    case .asked(let question): return await question.value
    case .unknown: return nil
    }
  }

  /// Requests the account's features if they are unknown.
  func ask(_ stream: BoundSession) {
    if case .unknown = support {
      support = .asked(session.start { await $0.messages.archive.question(on: stream) })
    }
  }

  private func question(on stream: BoundSession) async -> Bool? {
    // Sent after the presence: the answer then shows that everything the server sends in response to the presence has
    // arrived.
    await session.ask { $0.online?.beginning.greeting }?.empty()
    do throws(XMPPError) {
      let answer = try await ServiceDiscovery.ask(stream.jid.bare, on: stream)
      await stream.mark(SessionBeginning.mark)
      features.answered(answer, on: stream)
      // An archive that was read before still exists, even if the server fails to answer now.
      let isThere = answer.map(Archive.isOffered) ?? (position != nil)
      support = .known(isThere)
      if !isThere { session.start { await $0.messages.archive.forgetIDs() } }
      return isThere
    } catch {
      features.failed(on: stream)
      // The request is repeated when its answer matters.
      support = position == nil ? .unknown : .known(true)
      return nil
    }
  }

  /// Deletes the archive IDs of stored messages, because the account turned out to have no archive: their senders made
  /// them up.
  private func forgetIDs() async {
    await queue.stored()
    let name = context.account.description
    do throws(Failure) {
      try await context.localStore.change { try StoredMessage.forgetArchiveIDs(of: name, $0) }
    } catch {
      context.report("archive", error)
    }
  }

  /// Whether the archive stores every message, so that a message missing from it was not delivered.
  func keepsEverything(_ stream: BoundSession) async -> Bool {
    let answer = try? await stream.request(Archive.preferencesRequest())
    return answer.map(Archive.keepsEverything) ?? false
  }

  /// Stores the messages that follow a position in the archive; copies of sent messages settle these.
  ///
  /// - Parameters:
  /// - position: nil where it is unknown; empty where the archive was empty.
  /// - accepted: when the oldest message searched for was accepted, in seconds since 1970; used where the position
  ///   tells no time.
  /// - settling: whether the messages of earlier streams are searched for, oldest first; no message is sent meanwhile.
  /// - Returns: whether the archive was read to its end.
  func catchUp(
    from position: String?, _ accepted: Double?, settling: Bool = false, on stream: BoundSession
  ) async -> Bool {
    guard await hasArchive(stream) else { return false }
    var position = position
    var start = position == nil ? accepted.map(Self.dayBefore) : nil
    var isWhole = false
    if position == nil, start == nil { return false }
    for _ in 0..<pagesToCatchUp {
      let part = ResultSet.Part.after(position?.isEmpty == true ? nil : position)
      let wanted = ArchivePage(part, maximum: Self.pageSize, start: start)
      let reading = ArchiveReading(page: wanted, isKept: true, isNext: true, settles: settling)
      guard let page = await read(reading, on: stream)?.page else {
        // The archive may have deleted the message at the position.
        guard start == nil, position?.isEmpty == false, stream.isCurrent else { return false }
        let known = await dayBefore(position ?? "")
        start = known ?? Self.dayBefore(accepted ?? Date().timeIntervalSince1970)
        position = nil
        continue
      }
      if let last = page.position, last != position {
        await store(last, settling: settling)
      }
      isWhole = page.isLast
      if page.isLast || page.position == position { break }
      position = page.position
    }
    guard stream.isCurrent else { return false }
    if !isWhole, let position {
      guard let newest = await leaveGap(after: position, on: stream) else { return false }
      await store(newest)
    }
    caughtUp(on: stream)
    await conversations.resolveMarkers()
    session.ask { $0.beginning(of: stream) }?.end(.roaming)
    return isWhole
  }

  /// Called when the archive was read, so that live messages continue it. If the server may still be processing an
  /// earlier session, whose messages are archived behind the position, the archive is read once more.
  private func caughtUp(on stream: BoundSession) {
    let rest = settled - .now
    guard rest > .zero else {
      isCaughtUp = true
      return
    }
    session.start { await $0.messages.archive.catchUpAgain(on: stream, after: rest) }
  }

  private func catchUpAgain(on stream: BoundSession, after rest: Duration) async {
    try? await Task.sleep(for: rest)
    guard stream.isCurrent, !isCaughtUp else { return }
    _ = await catchUp(from: position, nil, on: stream)
  }

  /// Stores what follows the known part of the archive; at the first login, the unread messages.
  func read(on stream: BoundSession) async {
    await catchUpFirst(on: stream)
    _ = await catchUp(from: position, nil, on: stream)
  }

  /// One day before a time, which allows for clocks that differ.
  static func dayBefore(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds - 86_400) }

  /// Stores the position after each page, so that a connection that breaks repeatedly does not restart the search.
  private func store(_ position: String, settling: Bool = false) async {
    let name = context.account.description
    self.position = position
    do throws(Failure) {
      try await context.localStore.change { database in
        try StreamRecord.save(archivePosition: position, of: name, database)
        if settling { try OutboxMessage.markMissing(through: position, of: name, database) }
      }
    } catch {
      context.report("archive", error)
    }
  }

  /// The ID of the newest message in the archive; empty where there is none, nil where the server does not answer.
  func newestPosition(on stream: BoundSession) async -> String? {
    let newest = ArchiveReading(page: ArchivePage(.before(nil), maximum: 1), isKept: false)
    return await read(newest, on: stream).map { $0.page.position ?? "" }
  }

  /// Reads a page in its turn; when this returns, all messages of the page are stored. Nil where the page could not be
  /// read.
  func read(_ reading: ArchiveReading, on stream: BoundSession) async -> ArchiveReading? {
    await turns.begin()
    defer {
      self.reading = nil
      turns.end()
    }
    guard stream.isCurrent else { return nil }
    let page = reading.page
    self.reading = reading
    guard let answer = try? await stream.request(page.request), stream.isCurrent,
      self.reading?.page.ended(with: answer) == true
    else { return nil }
    if self.reading?.page.isComplete == false {
      let wait = DeliveryWait([page.id])
      waitingForPage = wait
      await wait.wait(seconds: 30)
    }
    await queue.stored()
    // Results that arrived at the end of the stream are not stored.
    guard stream.isCurrent, let read = self.reading, read.page.isComplete else { return nil }
    return read
  }

  func endPageWait() {
    waitingForPage?.end()
    waitingForPage = nil
  }
}
