import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

// A new stream: what has become of what was sent on the one before, and what has come meanwhile.

extension Session {
  /// Messages of a page; servers give less where they like.
  static let pageSize = 250
  /// A server may be at work still on what a connection has brought it, and on what it had for that one, when the next
  /// one has taken its place: both come into the archive. When nothing has come for so long, it is done.
  private static let afterwork = (sent: Duration.seconds(2), received: Duration.seconds(5))
  /// How often it is asked; a busy archive has something new every time.
  private static let maximumLooks = 10

  /// A stream is bound, and nothing has come on it yet.
  func beginMessages(_ bound: BoundStream, on stream: BoundSession) {
    traffic.own = bound.jid
    traffic.countsOthers = !traffic.isSettled
    traffic.isSettled = false
    traffic.isCaughtUp = false
    traffic.settled = stream.stream.configuration.resuming == nil ? .now : .now + Self.afterwork.received
    if !bound.isResumed { traffic.archive = .unknown }
  }

  /// Messages are handed to a bound stream when it is known what the server has of the earlier ones.
  func settle(_ bound: BoundStream, on stream: BoundSession) {
    if case .unknown = traffic.archive { traffic.archive = .asked(askForArchive(stream)) }
    Task { await settleMessages(bound, on: stream) }
  }

  private func settleMessages(_ bound: BoundStream, on stream: BoundSession) async {
    await online?.beginning.greeting.empty()
    // What the stream before did not take any more is not in flight.
    await traffic.handingOver?.value
    guard stream.isCurrent else { return }
    let others = bound.isResumed ? bound.unacknowledged.filter { !isOfOutbox($0) }.compactMap(\.element) : []
    var known = settlement(bound, on: stream)
    for id in known.acknowledged { enqueue(.acknowledged(id), stream) }
    if !others.isEmpty { try? await stream.send(others) }
    await messagesStored()
    // Where there is nowhere to look, the number counts.
    if !known.uncounted.isEmpty, await !hasArchive(stream) { known.missing.formUnion(known.uncounted) }
    guard let open = await handedOver(to: stream), stream.isCurrent else { return }
    let doubtful = known.doubtful(open)
    if doubtful.isEmpty {
      openOutbox(known.toSendAgain(open))
      await readArchive(on: stream)
      return await completeArchive(on: stream)
    }
    let isSearched = await search(for: doubtful, known, on: stream)
    let isTold = isSearched ? await keepsEverything(stream) : false
    guard let left = await handedOver(to: stream), await stream.stream.isOpen, stream.isCurrent else {
      return
    }
    // What servers do not archive cannot be found there either.
    let uncertain = known.doubtful(left).count { message in
      let isSurelyMissing = isSearched && known.uncounted.contains(message.id)
      return !isSurelyMissing && (!isTold || ![.chat, .normal].contains(message.type))
    }
    if uncertain > 0 {
      traffic.uncertain += uncertain
      log.warning(
        "sent again without knowing whether they have arrived",
        metadata: ["account": "\(account)", "messages": "\(uncertain)"])
    }
    openOutbox(known.toSendAgain(left))
    await completeArchive(on: stream)
  }

  /// Looks in the archive for what may have arrived, until the server can be thought to be done with all of it.
  ///
  /// - Returns: whether what was not found is not there.
  private func search(
    for doubtful: [OutboxMessage], _ known: OutboxSettlement, on stream: BoundSession
  ) async -> Bool {
    let isAtWork = traffic.lastHandover.map { $0 + Self.afterwork.sent > .now } ?? false
    var left = doubtful
    for look in 0..<Self.maximumLooks {
      guard await catchUp(from: left.first?.since, left.first?.accepted, settling: true, on: stream),
        let open = await handedOver(to: stream).map(known.doubtful)
      else { return false }
      if open.isEmpty || !isAtWork || (look > 0 && open.count == left.count) { return true }
      left = open
      try? await Task.sleep(for: Self.afterwork.sent)
    }
    return true
  }

  /// Receipts and the like are not.
  private func isOfOutbox(_ stanza: SentStanza) -> Bool { stanza.id.map(traffic.handover.isInFlight) == true }

  /// What the new stream tells of the messages that were handed to earlier ones.
  private func settlement(_ bound: BoundStream, on stream: BoundSession) -> OutboxSettlement {
    let counted = traffic.restoredIDs ?? traffic.handover.inFlightIDs
    let unacknowledged = Set(bound.unacknowledged.compactMap(\.id))
    var known = OutboxSettlement()
    if stream.stream.configuration.resuming != nil, !traffic.countsOthers {
      known.acknowledged = counted.subtracting(unacknowledged)
    }
    known.missing = traffic.handover.readyIDs
    if bound.isResumed { known.uncounted = unacknowledged.union(traffic.uncounted) }
    traffic.uncounted = known.uncounted
    traffic.handover = Handover()
    traffic.restoredIDs = nil
    traffic.isSettled = true
    return known
  }

  /// The messages that were handed to `stream` or one before and that the server is not known to have. A store that fails
  /// is asked again, as long as the stream is there; nil: it is not.
  private func handedOver(to stream: BoundSession) async -> [OutboxMessage]? {
    let name = account.description
    var pause = 1
    while stream.isCurrent {
      do throws(Failure) {
        return try await localStore.change { try OutboxMessage.all(of: name, isSent: true, $0) }
      } catch {
        log.error("outbox", metadata: ["account": "\(account)", "failure": "\(error.message)"])
      }
      try? await Task.sleep(for: .seconds(pause))
      pause = min(2 * pause, 30)
    }
    return nil
  }

  /// Goes on where an earlier agent has stopped, as far as that was stored.
  func restoreMessages() async {
    guard !traffic.isRestored else { return }
    traffic.isRestored = true
    let name = account.description
    guard let record = try? await localStore.change({ try StreamRecord.load(name, $0) }) else { return }
    traffic.archivePosition = record.archivePosition
    if record.archivePosition != nil { traffic.archive = .known(true) }
    traffic.lastHandover = .now
    guard succession.resumable == nil, online == nil,
      let resumption = record.resumption.flatMap(Resumption.init)
    else { return }
    succession.restore(StreamManagement(resumption.stream))
    // A presence on its way, as anything that has no id, may not have arrived.
    presence.restore(
      shown: resumption.stream.unacknowledged.contains(nil) ? nil : resumption.presence)
    traffic.restoredIDs = Set(resumption.stream.unacknowledged.compactMap(\.self))
  }

  /// The session of the last stream is over for good.
  func forgetResumption() async {
    let name = account.description
    traffic.restoredIDs = nil
    _ = try? await localStore.change { try StreamRecord.keep(resumption: nil, of: name, $0) }
  }

  // MARK: The archive

  /// Whether the account has an archive at its server, as far as that can be found out.
  func hasArchive(_ stream: BoundSession) async -> Bool {
    switch traffic.archive {
    case .known(let isThere): isThere
    // It was there before: asking it costs less than waiting for the answer.
    case .unknown, .asked: if traffic.archivePosition != nil { true } else { await discover(stream) ?? false }
    }
  }

  /// Waits until it is known what the account can do, which is asked once.
  ///
  /// - Returns: whether it has an archive; nil where it does not answer.
  @discardableResult
  func discover(_ stream: BoundSession) async -> Bool? {
    if case .unknown = traffic.archive { traffic.archive = .asked(askForArchive(stream)) }
    switch traffic.archive {
    case .known(let isThere): return isThere
    case .asked(let question): return await question.value
    case .unknown: return nil
    }
  }

  private func askForArchive(_ stream: BoundSession) -> Task<Bool?, Never> {
    let greeting = online?.beginning.greeting
    return Task {
      // Behind the presence: the answer tells that what the server sends to that has come.
      await greeting?.empty()
      do throws(XMPPError) {
        let answer = try await ServiceDiscovery.ask(account(of: stream), on: stream)
        await stream.mark(SessionBeginning.mark)
        features.answered(answer, on: stream)
        // Who has answered with an archive before has only failed to answer now.
        let isThere = answer.map(Archive.isOffered) ?? (traffic.archivePosition != nil)
        traffic.archive = .known(isThere)
        if !isThere { Task { await forgetArchiveIDs() } }
        return isThere
      } catch {
        features.failed(on: stream)
        // Asked again when it matters.
        traffic.archive = traffic.archivePosition == nil ? .unknown : .known(true)
        return nil
      }
    }
  }

  /// The account has no archive: the ids that messages had in its name until that was known were not the server's.
  private func forgetArchiveIDs() async {
    await messagesStored()
    let name = account.description
    do throws(Failure) {
      try await localStore.change { try StoredMessage.forgetArchiveIDs(of: name, $0) }
    } catch {
      log.error("archive", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }

  /// Whether what is not in the archive has not arrived: it may also be left out of it.
  private func keepsEverything(_ stream: BoundSession) async -> Bool {
    let answer = try? await stream.request(Archive.preferencesRequest())
    return answer.map(Archive.keepsEverything) ?? false
  }

  private func account(of stream: BoundSession) -> JID { (traffic.own ?? account).bare }

  /// Stores what is in the archive behind a message; it settles what was sent, too.
  ///
  /// - Parameters:
  ///   - position: nil where it is not known; empty: the archive was.
  ///   - accepted: since when something is looked for, where the position does not tell; seconds since 1970.
  ///   - settling: what was handed to earlier streams is looked for, from the oldest on; nothing else is handed over.
  /// - Returns: whether the archive was read to its end.
  private func catchUp(
    from position: String?, _ accepted: Double?, settling: Bool = false, on stream: BoundSession
  ) async -> Bool {
    guard await hasArchive(stream) else { return false }
    var position = position
    var start = position == nil ? accepted.map(Self.dayBefore) : nil
    var isWhole = false
    if position == nil, start == nil { return false }
    for _ in 0..<traffic.pagesToCatchUp {
      let part = ResultSet.Part.after(position?.isEmpty == true ? nil : position)
      let wanted = ArchivePage(part, maximum: Self.pageSize, start: start)
      let reading = MessageTraffic.Reading(page: wanted, isKept: true, isNext: true, settles: settling)
      guard let page = await read(reading, on: stream)?.page else {
        // The archive may have forgotten the message.
        guard start == nil, position?.isEmpty == false, stream.isCurrent else { return false }
        let known = await dayBefore(position ?? "")
        start = known ?? Self.dayBefore(accepted ?? Date().timeIntervalSince1970)
        position = nil
        continue
      }
      if let last = page.position, last != traffic.archivePosition {
        await keepPosition(last, settling: settling)
      }
      isWhole = page.isLast
      if page.isLast || page.position == position { break }
      position = page.position
    }
    guard stream.isCurrent else { return false }
    if !isWhole, let position {
      guard let newest = await leaveGap(after: position, on: stream) else { return false }
      await keepPosition(newest)
    }
    caughtUp(on: stream)
    await conversations.resolveMarkers()
    beginning(of: stream)?.end(.roaming)
    return isWhole
  }

  /// The archive was read: what arrives now is the next in it. Where a session of before may not have been over for the
  /// server, what that one has had comes behind, and the archive is read once more.
  private func caughtUp(on stream: BoundSession) {
    let rest = traffic.settled - .now
    guard rest > .zero else {
      traffic.isCaughtUp = true
      return
    }
    Task {
      try? await Task.sleep(for: rest)
      guard stream.isCurrent, !traffic.isCaughtUp else { return }
      _ = await catchUp(from: traffic.archivePosition, nil, on: stream)
    }
  }

  /// Stores what is in the archive behind what is known of it; the first time, what nobody has read.
  func readArchive(on stream: BoundSession) async {
    await catchUpFirst(on: stream)
    _ = await catchUp(from: traffic.archivePosition, nil, on: stream)
  }

  /// Clocks differ: a day is more than they do.
  static func dayBefore(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds - 86_400) }

  /// A link that breaks again and again must not make the search for what was sent begin anew each time.
  private func keepPosition(_ position: String, settling: Bool = false) async {
    let name = account.description
    traffic.archivePosition = position
    do throws(Failure) {
      try await localStore.change { database in
        try StreamRecord.keep(archivePosition: position, of: name, database)
        if settling { try OutboxMessage.markMissing(through: position, of: name, database) }
      }
    } catch {
      log.error("archive", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }

  /// Which message of the archive is its newest; empty where there is none, nil where that cannot be told.
  func newestPosition(on stream: BoundSession) async -> String? {
    let newest = MessageTraffic.Reading(page: ArchivePage(.before(nil), maximum: 1), isKept: false)
    return await read(newest, on: stream).map { $0.page.position ?? "" }
  }

  /// Reads a page, after those that others are reading; when it is returned everything in it is stored. nil where that
  /// cannot be done.
  func read(_ reading: MessageTraffic.Reading, on stream: BoundSession) async -> MessageTraffic.Reading? {
    if traffic.isArchiveTaken { await withCheckedContinuation { traffic.waitingForArchive.append($0) } }
    traffic.isArchiveTaken = true
    defer {
      traffic.reading = nil
      traffic.isArchiveTaken = !traffic.waitingForArchive.isEmpty
      if traffic.isArchiveTaken { traffic.waitingForArchive.removeFirst().resume() }
    }
    guard stream.isCurrent else { return nil }
    let page = reading.page
    traffic.reading = reading
    guard let answer = try? await stream.request(page.request), stream.isCurrent,
      traffic.reading?.page.ended(with: answer) == true
    else { return nil }
    if traffic.reading?.page.isComplete == false {
      let wait = DeliveryWait([page.id])
      traffic.waitingForPage = wait
      await wait.wait(seconds: 30)
    }
    await messagesStored()
    // What came at the end of the stream is not stored.
    guard stream.isCurrent, let read = traffic.reading, read.page.isComplete else { return nil }
    return read
  }

  func endPageWait() {
    traffic.waitingForPage?.end()
    traffic.waitingForPage = nil
  }
}
