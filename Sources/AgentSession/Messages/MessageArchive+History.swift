import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// Reads the gaps that catching up has left, and the history before the first catch-up.

extension MessageArchive {
  /// The messages on a page of history, which is smaller because users rarely want many, and the pages per request.
  private static let pastPageSize = 100
  private static let maximumPastPages = 1000
  /// The number of retries of catching up, and the seconds before the first.
  private static let attempts = 5
  private static let firstPause = 30.0
  /// How long a request waits for the first login of this agent.
  private static let patience = Duration.seconds(10)

  /// Retries catching up where it was interrupted, then fills the gaps.
  func complete(on stream: BoundSession) async {
    if case .known(false) = support {
      session.ask { $0.beginning(of: stream) }?.end(.roaming, count: nil)
      return
    }
    var pause = Self.firstPause
    for _ in 0..<Self.attempts where !isCaughtUp {
      guard stream.isCurrent, await hasArchive(stream) else { return }
      try? await context.clock.sleep(pause)
      pause *= 4
      guard stream.isCurrent, !isCaughtUp else { break }
      await read(on: stream)
    }
    if isCaughtUp { await fillGaps(on: stream) }
  }

  /// Reads the messages in the gaps, oldest gap first. They are published as news.
  func fillGaps(on stream: BoundSession) async {
    let name = context.account.description
    while stream.isCurrent, !Task.isCancelled,
      let gap = try? await context.localStore.change({ try ArchiveGap.oldest(of: name, $0) })
    {
      guard await fill(gap, on: stream) else { return }
      context.log.info("a gap in the archive was filled", metadata: ["account": "\(context.account)"])
    }
  }

  /// Fills a gap; returns whether it was read to its end.
  private func fill(_ gap: ArchiveGap, on stream: BoundSession) async -> Bool {
    let name = context.account.description
    var gap = gap
    var start: Date?
    for _ in 0..<Self.maximumPastPages {
      let part = ResultSet.Part.after(gap.after.isEmpty || start != nil ? nil : gap.after)
      let wanted = ArchivePage(part, maximum: Self.pageSize, start: start)
      guard let page = await read(ArchiveReading(page: wanted, isKept: true), on: stream)?.page else {
        // The archive may have deleted the message at the start of the gap.
        guard start == nil, !gap.after.isEmpty, stream.isCurrent,
          let date = await dayBefore(gap.after)
        else { return false }
        start = date
        continue
      }
      start = nil
      if page.isLast || page.contains(gap.before) {
        return (try? await context.localStore.change { [gap] in try gap.remove(of: name, $0) }) != nil
      }
      // A server that returns the same page again would be read for ever.
      guard let last = page.position, last != gap.after else { return false }
      gap.after = last
      _ = try? await context.localStore.change { [gap] in try gap.save(of: name, $0) }
    }
    return false
  }

  /// Ends catching up for now: the messages between this one and the newest form a gap.
  func leaveGap(after position: String, on stream: BoundSession) async -> String? {
    guard let newest = await newestPosition(on: stream) else { return nil }
    let name = context.account.description
    let gap = ArchiveGap(after: position, before: newest)
    if newest != position { _ = try? await context.localStore.change { try gap.save(of: name, $0) } }
    return newest
  }

  /// The time one day before a message of the archive, or before the first stored one where the message is not stored.
  /// The day allows for clocks that differ.
  func dayBefore(_ id: String) async -> Date? {
    let name = context.account.description
    let time = try? await context.localStore.read { database in
      try ArchiveStart.time(of: id, name, database) ?? ArchiveStart.firstTime(of: name, database)
    }
    return time.map(Self.dayBefore)
  }

  // MARK: The past

  /// Fetches messages from the archive until the answer to a history query is complete.
  package func sync(_ parameters: HistorySyncMethod.Parameters) async throws(Failure)
    -> HistorySyncMethod.Result
  {
    let stream = try await session.streamForHistory(within: Self.patience)
    guard await hasArchive(stream) else {
      throw Failure(.stanzaError, stage: .request, detail: .session(.noArchive))
    }
    await fillGaps(on: stream)
    let query = try HistoryQuery(parameters, of: context.account.description)
    var result = HistorySyncMethod.Result()
    var start = try await start(of: query)
    // The time of the oldest message read from the archive. The time of a stored message may be its sender's claim.
    var reached: Double?
    var isFresh = true
    for _ in 0..<Self.maximumPastPages {
      guard !Task.isCancelled else { throw Failure(.cancelled, stage: .request) }
      if try await hasAll(of: query, since: reached) {
        result.complete = true
        break
      }
      guard let page = await readPast(query.peer, before: start, on: stream) else {
        // The archive may have deleted the message: the next request names its time instead.
        guard isFresh, let time = start?.time, stream.isCurrent else {
          throw Failure(.networkError, stage: .request, detail: .text(context.account.description))
        }
        isFresh = false
        start = ArchiveStart(id: "", time: time)
        continue
      }
      isFresh = false
      result.fetched += try await savePast(page, of: query)
      let first = page.page.first
      if page.page.isLast || first == nil || first == start?.id {
        result.complete = page.page.isLast
        break
      }
      reached = page.collected?.first?.time(now: context.clock.now()).seconds ?? reached
      start = first.map { ArchiveStart(id: $0, time: reached) }
    }
    return result
  }

  private func start(of query: HistoryQuery) async throws(Failure) -> ArchiveStart? {
    try await context.localStore.read { try ArchiveStart.load(query.account, with: query.peer, $0) }
  }

  /// Whether the answer to the query needs no older message.
  private func hasAll(of query: HistoryQuery, since time: Double?) async throws(Failure) -> Bool {
    if let after = query.after, let time, time < after { return true }
    let statement = query.statement
    let count = try await context.localStore.read { database in
      try Int.fetchOne(
        database, sql: "SELECT count(*) FROM (\(statement.sql))", arguments: statement.arguments) ?? 0
    }
    return count >= query.limit
  }

  private func readPast(
    _ peer: String?, before start: ArchiveStart?, on stream: BoundSession
  ) async -> ArchiveReading? {
    let end = start.flatMap { start in
      start.id.isEmpty ? start.time.map { Date(timeIntervalSince1970: $0 + 86_400) } : nil
    }
    let id = start.flatMap { $0.id.isEmpty ? nil : $0.id }
    let page = ArchivePage(
      .before(id), maximum: Self.pastPageSize, with: peer.flatMap { try? JID($0) }, end: end)
    return await read(ArchiveReading(page: page, isKept: true, collected: []), on: stream)
  }

  private func savePast(_ reading: ArchiveReading, of query: HistoryQuery) async throws(Failure)
    -> Int
  {
    let (own, now) = (own, context.clock.now())
    let messages = (reading.collected ?? []).compactMap { $0.stored(own: own, hasArchive: true, now: now) }
    let first = query.peer == nil ? reading.page.first : nil
    return try await context.localStore.change { database in
      if let first { try ArchiveStart.save(first, of: query.account, database) }
      return try StoredMessage.insertPast(messages, query.account, database)
    }
  }
}

extension HistoryQuery {
  init(_ parameters: HistorySyncMethod.Parameters, of account: String) throws(Failure) {
    let peer = try parameters.with.map { with throws(Failure) in try Self.peer(with, of: account) }
    self.init(account: account, peer: peer, limit: parameters.limit)
    words = parameters.words
    after = parameters.after
    before = parameters.before
  }
}
