import AgentProtocol
import AgentStore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// At the start of a session, finds out which messages of earlier streams have arrived, and reads the messages that
/// were missed.
final class OutboxRecovery {
  /// How long a server may still process the input of a connection that was replaced; the results are added to the
  /// archive. After this time without a change, the server is regarded as done.
  private static let afterwork = Duration.seconds(2)
  /// The maximum number of searches, because a busy archive changes every time.
  private static let maximumLooks = 10

  private unowned let session: Session
  private let context: SessionContext
  private let queue: MessageQueue
  private let outbox: Outbox
  private let archive: MessageArchive
  /// The number of messages, since the start of the agent, that were sent again although the server may have had them.
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

  /// Starts the recovery. Messages are sent over the stream once the earlier ones are settled.
  func begin(_ beginning: SessionBeginning) {
    archive.ask(beginning.stream)
    session.start { await $0.messages.recovery.settle(beginning) }
  }

  private func settle(_ beginning: SessionBeginning) async {
    let stream = beginning.stream
    await beginning.greeting.empty()
    // A message that the previous stream did not take is not in flight.
    await outbox.handedOver()
    guard stream.isCurrent else { return }
    let others =
      stream.isResumed
      ? stream.bound.unacknowledged.filter { !outbox.isInFlight($0) }.compactMap(\.element) : []
    var known = outbox.settlement(of: stream)
    for id in known.acknowledged { queue.append(.acknowledged(id), of: stream) }
    if !others.isEmpty { try? await stream.send(others) }
    await queue.stored()
    // Without an archive, the server's count decides.
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
    // A message that servers do not archive cannot be found in the archive.
    let uncertain = known.doubtful(left).count { message in
      let isSurelyMissing = isSearched && known.uncounted.contains(message.id)
      return !isSurelyMissing && (!isTold || ![.chat, .normal].contains(message.type))
    }
    if uncertain > 0 {
      self.uncertain += uncertain
      context.log.warning(
        "messages were sent again and may arrive twice",
        metadata: ["account": "\(context.account)", "messages": "\(uncertain)"])
    }
    outbox.open(known.toSendAgain(left))
    await archive.complete(on: stream)
  }

  /// Searches the archive for messages that may have arrived, until the server is regarded as done with earlier input.
  ///
  /// - Returns: whether messages that were not found are certainly not in the archive.
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

  /// The messages that were sent over `stream` or an earlier one without an acknowledgement. Retries a store that
  /// fails; nil once the stream has ended.
  private func handedOver(to stream: BoundSession) async -> [OutboxMessage]? {
    let name = context.account.description
    var pause = 1
    while stream.isCurrent {
      do throws(Failure) {
        return try await context.localStore.change { try OutboxMessage.all(of: name, isSent: true, $0) }
      } catch {
        context.report("outbox", error)
      }
      try? await Task.sleep(for: .seconds(pause))
      pause = min(2 * pause, 30)
    }
    return nil
  }
}
