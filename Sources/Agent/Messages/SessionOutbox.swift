import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// What is to be sent is stored first, handed to the stream in the order in which it was accepted, and belongs to the history
// when the server has acknowledged it.

extension Session {
  /// Accepts messages, all or none; what is returned waits for the server to have them.
  ///
  /// An agent that has begun to end takes them for the next one.
  func send(_ parameters: MessageSendMethod.Parameters) async throws(Failure) -> Sending {
    guard leaving == 0, await isToBeOnline() else {
      throw Failure(.notLoggedIn, stage: .request, detail: account.description)
    }
    let now = Date().timeIntervalSince1970
    var messages: [OutboxMessage] = []
    let asksReceipts = parameters.asksReceipts || parameters.wait == .delivered
    for message in parameters.messages {
      messages.append(try OutboxMessage(message, asksReceipt: asksReceipts, accepted: now))
    }
    let recipients = zip(messages, parameters.messages).map { ($0.id, $1.to) }
    let ids = messages.map(\.id)
    let server = DeliveryWait(ids)
    let receipts = parameters.wait == .delivered ? DeliveryWait(ids) : nil
    if parameters.wait != .none { traffic.waits.add(server) }
    if let receipts { traffic.receiptWaits.add(receipts) }
    do throws(Failure) {
      for (id, receipt) in try await accept(messages, durably: parameters.wait == .none) {
        server.done(id)
        if let receipt { receipts?.done(id, receipt.kind == .failed ? Failure(receipt) : nil) }
      }
    } catch {
      stopWaiting(server, receipts)
      throw error
    }
    handOver()
    let timeout = parameters.timeout
    if parameters.wait == .none {
      return Sending { recipients.map { .init(id: $0.0, to: $0.1, state: .queued) } }
    }
    return Sending {
      await (receipts ?? server).wait(seconds: timeout)
      await self.endWaiting(server, receipts)
      let (queued, undelivered) = (server.open, receipts?.open)
      let failures = (receipts ?? server).failures
      return recipients.map { id, to in
        let isDelivered = undelivered?.contains(id) == false && failures[id] == nil
        let isQueued = queued.contains(id) || server.failures[id] != nil
        return .init(
          id: id, to: to, state: isDelivered ? .delivered : isQueued ? .queued : .sent, error: failures[id])
      }
    }
  }

  /// Those of the ids that messages were accepted under.
  func accepted(_ ids: [String]) async throws(Failure) -> [String] {
    let name = account.description
    let own = (traffic.own ?? account).bare.description
    return try await localStore.change { try OutboxMessage.accepted(ids, of: name, own: own, $0) }
  }

  /// Stores messages in the outbox; gives the ids of those that the server has already, and what their recipients
  /// have told of them.
  private func accept(
    _ messages: [OutboxMessage], durably: Bool
  ) async throws(Failure) -> [(String, ReceiptEvent?)] {
    // What nothing is before may be handed over at once.
    let stream = traffic.isOpen && !traffic.hasQueued && !traffic.isLoading ? online?.stream : nil
    let since = traffic.archivePosition
    let name = account.description
    let own = (traffic.own ?? account).bare.description
    let isDirect = stream != nil && traffic.handover.hasRoom(for: messages)
    let (accepted, sent) = try await localStore.change(durably: durably) { database in
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
          throw Failure(.invalidParameter, stage: .input, detail: "another message has the id \(message.id)")
        }
      }
      return (accepted, sent)
    }
    if isDirect, traffic.isOpen, stream?.isCurrent == true {
      traffic.handover.append(accepted)
    } else {
      // They are accepted all the same: what may have been handed over is looked up when the next stream begins.
      if isDirect { try? await putBack(accepted) }
      traffic.hasQueued = true
    }
    return sent
  }

  /// The stream that they were meant for has ended before they could be handed to it.
  private func putBack(_ messages: [OutboxMessage]) async throws(Failure) {
    try await localStore.change { database in
      for message in messages { try message.markQueued(database) }
    }
  }

  private func stopWaiting(_ server: DeliveryWait, _ receipts: DeliveryWait?) {
    traffic.waits.remove(server)
    if let receipts { traffic.receiptWaits.remove(receipts) }
  }

  private func endWaiting(_ server: DeliveryWait, _ receipts: DeliveryWait?) async {
    stopWaiting(server, receipts)
    // That they stay queued is a promise.
    if !server.open.isEmpty { try? await localStore.flush() }
  }

  /// Online, or about to be by itself.
  func isToBeOnline() async -> Bool {
    if isActive || kept != nil { return true }
    return (try? await accounts.entry(account))?.isLogin == true
  }

  // MARK: Handing over

  /// Hands the next messages to the stream, where one takes them.
  func handOver() {
    guard traffic.isOpen, traffic.handingOver == nil, let stream = online?.stream,
      traffic.handover.hasReady || traffic.hasQueued, traffic.handover.hasRoom
    else { return }
    traffic.handingOver = Task {
      await handOver(to: stream)
      traffic.handingOver = nil
      // The stream may be another one by now.
      if !stream.isCurrent { handOver() }
    }
  }

  private func handOver(to stream: BoundSession) async {
    while traffic.isOpen, stream.isCurrent, traffic.handover.hasRoom {
      let messages = traffic.handover.next()
      if messages.isEmpty {
        guard traffic.hasQueued, await loadQueued(for: stream) else { return }
        continue
      }
      let now = Date().timeIntervalSince1970
      do throws(XMPPError) {
        try await stream.send(
          messages.map { $0.element(isAgain: $0.isAgain || now - $0.accepted > 10, own: account) })
      } catch {
        // The end of the stream is an event of its own. What was handed over before it is settled then.
        if error.code == .notLoggedIn { traffic.handover.takeBack(messages) }
        return
      }
      enqueue(.streamChanged, stream)
      if await stream.stream.management?.isEnabled != true { confirmByPing(messages.map(\.id), on: stream) }
    }
  }

  /// Takes messages from the disk that have never been handed over; false where there are no more.
  private func loadQueued(for stream: BoundSession) async -> Bool {
    let name = account.description
    let since = traffic.archivePosition
    let room = traffic.handover.room
    // What is accepted meanwhile is queued behind these, and sets this again.
    traffic.hasQueued = false
    traffic.isLoading = true
    defer { traffic.isLoading = false }
    do throws(Failure) {
      let (messages, areAll) = try await localStore.change { database in
        let queued = try OutboxMessage.queued(of: name, upTo: room, database)
        try OutboxMessage.markSent(queued.messages.map(\.position), since: since, database)
        return queued
      }
      if !areAll { traffic.hasQueued = true }
      guard traffic.isOpen, stream.isCurrent else {
        traffic.hasQueued = true
        try await putBack(messages)
        return false
      }
      traffic.handover.append(messages)
      return !messages.isEmpty || traffic.hasQueued
    } catch {
      log.error("outbox", metadata: ["account": "\(account)", "failure": "\(error.message)"])
      traffic.hasQueued = true
      return false
    }
  }

  /// A server that does not count stanzas has got those before a ping when it answers that.
  private func confirmByPing(_ ids: [String], on stream: BoundSession) {
    Task {
      guard (try? await Ping.send(on: stream, timeout: .seconds(60))) != nil else { return }
      for id in ids { enqueue(.acknowledged(id), stream) }
    }
  }

  /// Nothing is handed over until it is known what has become of what was.
  func suspendOutbox() {
    if traffic.isOpen { traffic.lastHandover = .now }
    traffic.isOpen = false
  }

  /// From now on messages are handed to the stream: first these, which were handed to an earlier one.
  func openOutbox(_ again: [OutboxMessage] = []) {
    traffic.handover = Handover(ready: again)
    traffic.uncounted = []
    traffic.hasQueued = true
    traffic.isOpen = true
    handOver()
  }

  // MARK: The outbox

  func outbox() async throws(Failure) -> OutboxListMethod.Result {
    let name = account.description
    return try await localStore.change { try OutboxMessage.all(of: name, $0) }.map { message in
      .init(
        id: message.id, to: message.to.description, body: message.body,
        accepted: Timestamp.text(Date(timeIntervalSince1970: message.accepted)), handedOver: message.isSent)
    }
  }

  /// What was handed to a server is not taken back: it may be there.
  func cancel(_ parameters: OutboxCancelMethod.Parameters) async throws(Failure) -> OutboxCancelMethod.Result
  {
    let name = account.description
    let wanted = parameters.all ? nil : Set(parameters.ids)
    let result = try await localStore.change(durably: true) { database in
      var result = OutboxCancelMethod.Result(cancelled: [], handedOver: [])
      for message in try OutboxMessage.all(of: name, database) where wanted?.contains(message.id) ?? true {
        if message.isSent {
          result.handedOver.append(message.id)
        } else if try message.remove(database) {
          result.cancelled.append(message.id)
        }
      }
      return result
    }
    if let wanted, result.cancelled.isEmpty, result.handedOver.isEmpty {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: "no message with the id \(wanted.sorted().joined(separator: ", "))")
    }
    for id in result.cancelled { traffic.cancel(id) }
    return result
  }

  /// Waits until the server has everything that was accepted, at most `seconds`; how many messages it does not have.
  func flushOutbox(within seconds: Double) async -> Int {
    let name = account.description
    guard let messages = try? await localStore.change({ try OutboxMessage.all(of: name, $0) }),
      !messages.isEmpty
    else { return 0 }
    guard online != nil, seconds > 0 else { return messages.count }
    let wait = DeliveryWait(messages.map(\.id))
    traffic.waits.add(wait)
    // The server may have acknowledged some between the two lines before.
    let left = try? await localStore.change { Set(try OutboxMessage.all(of: name, $0).map(\.id)) }
    if let left { for message in messages where !left.contains(message.id) { traffic.finish(message.id) } }
    await wait.wait(seconds: seconds)
    traffic.waits.remove(wait)
    return wait.open.count
  }
}

extension Session {
  /// What could not be sent will not be.
  func dropOutbox() async throws(Failure) {
    let name = account.description
    let ids = try await localStore.change(durably: true) { database in
      try OutboxMessage.all(of: name, database).filter { try $0.remove(database) }.map(\.id)
    }
    for id in ids { traffic.cancel(id) }
  }

  /// Deletes everything that is kept of the account's messages.
  func forgetMessages() async throws(Failure) {
    try await localStore.forget(account.description)
    traffic = MessageTraffic()
  }
}
