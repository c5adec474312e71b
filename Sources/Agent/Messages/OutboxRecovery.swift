import AgentProtocol
import AgentStore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// Finds out, at the beginning of a session, what has become of the messages that were handed to earlier streams, and what
/// has come meanwhile.
final class OutboxRecovery {
  /// A server may be at work still on what a connection has brought it when the next one has taken its place: that comes
  /// into the archive. When nothing has come for so long, it is done.
  private static let afterwork = Duration.seconds(2)
  /// How often it is asked; a busy archive has something new every time.
  private static let maximumLooks = 10

  private unowned let session: Session
  private let context: SessionContext
  private let queue: MessageQueue
  private let outbox: Outbox
  private let archive: MessageArchive
  /// Messages that were sent again though the server may have had them, since the agent was started.
  private(set) var uncertain = 0

  init(
    of session: Session, _ context: SessionContext, _ queue: MessageQueue, _ outbox: Outbox,
    _ archive: MessageArchive
  ) {
    self.session = session
    self.context = context
    self.queue = queue
    self.outbox = outbox
    self.archive = archive
  }

  /// Begins: messages are handed to a bound stream when it is known what the server has of the earlier ones.
  func begin(_ beginning: SessionBeginning) {
    archive.ask(beginning.stream)
    session.start { await $0.messages.recovery.settle(beginning) }
  }

  private func settle(_ beginning: SessionBeginning) async {
    let stream = beginning.stream
    await beginning.greeting.empty()
    // What the stream before did not take any more is not in flight.
    await outbox.handedOver()
    guard stream.isCurrent else { return }
    let others =
      stream.isResumed
      ? stream.bound.unacknowledged.filter { !outbox.isInFlight($0) }.compactMap(\.element) : []
    var known = outbox.settlement(of: stream)
    for id in known.acknowledged { queue.append(.acknowledged(id), of: stream) }
    if !others.isEmpty { try? await stream.send(others) }
    await queue.stored()
    // Where there is nowhere to look, the number counts.
    if !known.uncounted.isEmpty, await !archive.hasArchive(stream) {
      known.missing.formUnion(known.uncounted)
    }
    guard let open = await handedOver(to: stream), stream.isCurrent else { return }
    let doubtful = known.doubtful(open)
    if doubtful.isEmpty {
      outbox.open(known.toSendAgain(open))
      await archive.read(on: stream)
      return await archive.complete(on: stream)
    }
    let isSearched = await search(for: doubtful, known, on: stream)
    let isTold = isSearched ? await archive.keepsEverything(stream) : false
    guard let left = await handedOver(to: stream), await stream.stream.isOpen, stream.isCurrent else {
      return
    }
    // What servers do not archive cannot be found there either.
    let uncertain = known.doubtful(left).count { message in
      let isSurelyMissing = isSearched && known.uncounted.contains(message.id)
      return !isSurelyMissing && (!isTold || ![.chat, .normal].contains(message.type))
    }
    if uncertain > 0 {
      self.uncertain += uncertain
      context.log.warning(
        "sent again without knowing whether they have arrived",
        metadata: ["account": "\(context.account)", "messages": "\(uncertain)"])
    }
    outbox.open(known.toSendAgain(left))
    await archive.complete(on: stream)
  }

  /// Looks in the archive for what may have arrived, until the server can be thought to be done with all of it.
  ///
  /// - Returns: whether what was not found is not there.
  private func search(
    for doubtful: [OutboxMessage], _ known: OutboxSettlement, on stream: BoundSession
  ) async -> Bool {
    let isAtWork = outbox.lastSend.map { $0 + Self.afterwork > .now } ?? false
    var left = doubtful
    for look in 0..<Self.maximumLooks {
      guard await archive.catchUp(from: left.first?.since, left.first?.accepted, settling: true, on: stream),
        let open = await handedOver(to: stream).map(known.doubtful)
      else { return false }
      if open.isEmpty || !isAtWork || (look > 0 && open.count == left.count) { return true }
      left = open
      try? await Task.sleep(for: Self.afterwork)
    }
    return true
  }

  /// The messages that were handed to `stream` or one before and that the server is not known to have. A store that fails
  /// is asked again, as long as the stream is there; nil: it is not.
  private func handedOver(to stream: BoundSession) async -> [OutboxMessage]? {
    let name = context.account.description
    var pause = 1
    while stream.isCurrent {
      do throws(Failure) {
        return try await context.localStore.change { try OutboxMessage.all(of: name, isSent: true, $0) }
      } catch {
        context.log.error(
          "outbox", metadata: ["account": "\(context.account)", "failure": "\(error.message)"])
      }
      try? await Task.sleep(for: .seconds(pause))
      pause = min(2 * pause, 30)
    }
    return nil
  }
}
