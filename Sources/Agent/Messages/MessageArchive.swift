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

/// The account's archive at its server (XEP-0313), as far as the messages in it are stored.
final class MessageArchive {
  /// Messages of a page; servers give less where they like.
  static let pageSize = 250
  /// Seconds for which a server may be at work still on what it had for a connection when the next one has taken its place:
  /// that comes into the archive. When nothing has come for so long, it is done.
  private static let afterwork = Duration.seconds(5)

  unowned let session: Session
  let context: SessionContext
  private let queue: MessageQueue
  private let features: AccountFeatures
  let conversations: Conversations
  /// The stream that was bound last.
  private var last: BoundSession?
  private(set) var support = ArchiveSupport.unknown
  /// Everything of the archive up to what arrives now is stored.
  private(set) var isCaughtUp = false
  /// When the server is done with what it had for an earlier connection.
  private var settled = ContinuousClock.now
  /// The newest message of the archive up to which all are stored; empty: there are none. nil: not known.
  private(set) var position: String?
  /// The page that is being read.
  private(set) var reading: ArchiveReading?
  private var waitingForPage: DeliveryWait?
  /// Pages that are read at a time before the newest: what is left is a gap.
  var pagesToCatchUp = 2000
  /// Pages are read one at a time.
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

  /// What an earlier agent has stored.
  func restore(_ position: String?) {
    self.position = position
    if position != nil { support = .known(true) }
  }

  /// Everything is deleted that was stored of the account's messages.
  func forget() {
    support = .unknown
    isCaughtUp = false
    position = nil
  }

  /// All messages up to this one are stored.
  func setPosition(_ position: String) { self.position = position }

  /// What has come of the page that is being read is stored.
  func stored(_ reading: ArchiveReading?) {
    if let reading { self.reading?.merge(reading) }
  }

  func endPageWaitIfComplete() {
    if reading?.page.isComplete == true { endPageWait() }
  }

  /// Whether the account has an archive at its server, as far as that can be found out.
  func hasArchive(_ stream: BoundSession) async -> Bool {
    switch support {
    case .known(let isThere): isThere
    // It was there before: asking it costs less than waiting for the answer.
    case .unknown, .asked: if position != nil { true } else { await discover(stream) ?? false }
    }
  }

  /// Waits until it is known what the account can do, which is asked once.
  ///
  /// - Returns: whether it has an archive; nil where it does not answer.
  @discardableResult
  func discover(_ stream: BoundSession) async -> Bool? {
    ask(stream)
    switch support {
    case .known(let isThere): return isThere
    case .asked(let question): return await question.value
    case .unknown: return nil
    }
  }

  /// Asks, where that is not known, what the account can do.
  func ask(_ stream: BoundSession) {
    if case .unknown = support {
      support = .asked(session.start { await $0.messages.archive.question(on: stream) })
    }
  }

  private func question(on stream: BoundSession) async -> Bool? {
    // Behind the presence: the answer tells that what the server sends to that has come.
    await session.ask { $0.online?.beginning.greeting }?.empty()
    do throws(XMPPError) {
      let answer = try await ServiceDiscovery.ask(stream.jid.bare, on: stream)
      await stream.mark(SessionBeginning.mark)
      features.answered(answer, on: stream)
      // Who has answered with an archive before has only failed to answer now.
      let isThere = answer.map(Archive.isOffered) ?? (position != nil)
      support = .known(isThere)
      if !isThere { session.start { await $0.messages.archive.forgetIDs() } }
      return isThere
    } catch {
      features.failed(on: stream)
      // Asked again when it matters.
      support = position == nil ? .unknown : .known(true)
      return nil
    }
  }

  /// The account has no archive: the ids that messages had in its name until that was known were not the server's.
  private func forgetIDs() async {
    await queue.stored()
    let name = context.account.description
    do throws(Failure) {
      try await context.localStore.change { try StoredMessage.forgetArchiveIDs(of: name, $0) }
    } catch {
      context.log.error(
        "archive", metadata: ["account": "\(context.account)", "failure": "\(error.message)"])
    }
  }

  /// Whether what is not in the archive has not arrived: it may also be left out of it.
  func keepsEverything(_ stream: BoundSession) async -> Bool {
    let answer = try? await stream.request(Archive.preferencesRequest())
    return answer.map(Archive.keepsEverything) ?? false
  }

  /// Stores what is in the archive behind a message; it settles what was sent, too.
  ///
  /// - Parameters:
  ///   - position: nil where it is not known; empty: the archive was.
  ///   - accepted: since when something is looked for, where the position does not tell; seconds since 1970.
  ///   - settling: what was handed to earlier streams is looked for, from the oldest on; nothing else is handed over.
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
        // The archive may have forgotten the message.
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

  /// The archive was read: what arrives now is the next in it. Where a session of before may not have been over for the
  /// server, what that one has had comes behind, and the archive is read once more.
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

  /// Stores what is in the archive behind what is known of it; the first time, what nobody has read.
  func read(on stream: BoundSession) async {
    await catchUpFirst(on: stream)
    _ = await catchUp(from: position, nil, on: stream)
  }

  /// Clocks differ: a day is more than they do.
  static func dayBefore(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds - 86_400) }

  /// A link that breaks again and again must not make the search for what was sent begin anew each time.
  private func store(_ position: String, settling: Bool = false) async {
    let name = context.account.description
    self.position = position
    do throws(Failure) {
      try await context.localStore.change { database in
        try StreamRecord.save(archivePosition: position, of: name, database)
        if settling { try OutboxMessage.markMissing(through: position, of: name, database) }
      }
    } catch {
      context.log.error(
        "archive", metadata: ["account": "\(context.account)", "failure": "\(error.message)"])
    }
  }

  /// Which message of the archive is its newest; empty where there is none, nil where that cannot be told.
  func newestPosition(on stream: BoundSession) async -> String? {
    let newest = ArchiveReading(page: ArchivePage(.before(nil), maximum: 1), isKept: false)
    return await read(newest, on: stream).map { $0.page.position ?? "" }
  }

  /// Reads a page, after those that others are reading; when it is returned everything in it is stored. nil where that
  /// cannot be done.
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
    // What came at the end of the stream is not stored.
    guard stream.isCurrent, let read = self.reading, read.page.isComplete else { return nil }
    return read
  }

  func endPageWait() {
    waitingForPage?.end()
    waitingForPage = nil
  }
}
