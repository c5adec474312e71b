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

// The commands about the outbox.

extension Outbox {
  /// Accepts all messages or none; the result waits for the server's acknowledgements.
  ///
  /// An agent that has begun to exit accepts messages for the next agent.
  func send(_ parameters: MessageSendMethod.Parameters) async throws(Failure) -> Sending {
    guard await session.acceptsMessages() else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(context.account.description))
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
    if parameters.wait != .none { wait(server, receipts) }
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
    return Sending { [session] in
      await (receipts ?? server).wait(seconds: timeout)
      await session.perform { await $0.messages.outbox.endWaiting(server, receipts) }
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

  /// The given IDs for which messages were accepted.
  package func accepted(_ ids: [String]) async throws(Failure) -> [String] {
    let name = context.account.description
    let own = own.bare.description
    return try await context.localStore.change { try OutboxMessage.accepted(ids, of: name, own: own, $0) }
  }

  func endWaiting(_ server: DeliveryWait, _ receipts: DeliveryWait?) async {
    stopWaiting(server, receipts)
    // The caller relies on the messages being queued, so they must be on the disk.
    if !server.open.isEmpty { try? await context.localStore.flush() }
  }

  package func list() async throws(Failure) -> OutboxListMethod.Result {
    let name = context.account.description
    return try await context.localStore.change { try OutboxMessage.all(of: name, $0) }.map { message in
      .init(
        id: message.id, to: message.to.description, body: message.body,
        accepted: Timestamp.text(Date(timeIntervalSince1970: message.accepted)), handedOver: message.isSent)
    }
  }

  /// Cancels messages that were not sent. Messages that were handed to a server cannot be cancelled, because they may
  /// have been delivered.
  package func cancel(_ parameters: OutboxCancelMethod.Parameters) async throws(Failure)
    -> OutboxCancelMethod.Result
  {
    let name = context.account.description
    let wanted = parameters.all ? nil : Set(parameters.ids)
    let result = try await context.localStore.change(durably: true) { database in
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
        detail: .session(.unknownMessage, wanted.sorted().joined(separator: ", ")))
    }
    for id in result.cancelled { cancel(id) }
    return result
  }

  /// Waits at most `seconds` until the server has all accepted messages; returns how many it lacks.
  func flush(within seconds: Double) async -> Int {
    let name = context.account.description
    guard let messages = try? await context.localStore.change({ try OutboxMessage.all(of: name, $0) }),
      !messages.isEmpty
    else { return 0 }
    guard stream != nil, seconds > 0 else { return messages.count }
    let wait = DeliveryWait(messages.map(\.id))
    self.wait(wait)
    // The server may have acknowledged some of them between the two statements.
    let left = try? await context.localStore.change { Set(try OutboxMessage.all(of: name, $0).map(\.id)) }
    if let left { for message in messages where !left.contains(message.id) { finish(message.id) } }
    await wait.wait(seconds: seconds)
    stopWaiting(wait)
    return wait.open.count
  }

  /// Drops the messages that could not be sent.
  func removeAll() async throws(Failure) {
    let name = context.account.description
    let ids = try await context.localStore.change(durably: true) { database in
      try OutboxMessage.all(of: name, database).filter { try $0.remove(database) }.map(\.id)
    }
    for id in ids { cancel(id) }
  }
}
