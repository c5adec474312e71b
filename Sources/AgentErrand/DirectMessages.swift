import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPFeatures
import XMPPStanza

extension AccountAtServer {
  /// The maximum number of unacknowledged messages.
  private static var window: Int { 500 }

  /// Sends messages without an agent and without presence; returns when the server has all of them.
  ///
  /// The messages are not stored: those without a reported outcome may or may not have arrived.
  ///
  /// - Parameters:
  ///   - seconds: how long to wait for receipts afterwards; nil for not at all.
  ///   - report: called with the outcome of each message.
  ///
  /// Also throws the error that ended the stream.
  package func send(
    _ messages: [OutgoingMessage], asksReceipts: Bool = true, awaitingReceipts seconds: Double?,
    report: @escaping @Sendable (MessageSendMethod.Outcome) throws -> Void
  ) async throws(Failure) {
    let now = Date().timeIntervalSince1970
    var outgoing: [OutboxMessage] = []
    for message in messages {
      outgoing.append(try OutboxMessage(message, asksReceipt: asksReceipts, accepted: now))
    }
    let recipients = Dictionary(outgoing.map { ($0.id, $0.to) }) { first, _ in first }
    let receipts = DeliveryWait(recipients.keys)
    let own = stream.account
    let onMessage: @Sendable (Message) -> Void = { message in
      guard let receipt = IncomingMessage(message, own: own)?.receipt(own: own, now: now),
        receipt.isBelievable(ofMessageTo: recipients[receipt.receipt.id])
      else { return }
      receipts.done(receipt.receipt.id, receipt.receipt.kind == .failed ? Failure(receipt.receipt) : nil)
    }
    let all = outgoing
    try await stream.loggedIn(with: credentials, server, onMessage: onMessage) {
      connection, _ throws(Failure) in
      for start in Swift.stride(from: 0, to: all.count, by: Self.window) {
        let some = all[start..<min(start + Self.window, all.count)]
        do throws(XMPPError) {
          try await connection.send(some.map { $0.element(isAgain: false, isKnown: false, own: own) })
          repeat {
            try await connection.probe(timeout: stream.timeout)
          } while await connection.management?.isWaiting
            == true
        } catch {
          throw Failure(error)
        }
        // An error for the message may have come before the acknowledgement.
        let failures = receipts.failures
        if seconds == nil { for message in some { try tell([message], .sent, failures[message.id]) } }
      }
      guard let seconds else { return }
      await receipts.wait(seconds: seconds)
      let (open, failures) = (receipts.open, receipts.failures)
      for message in all {
        let isDelivered = !open.contains(message.id) && failures[message.id] == nil
        try tell([message], isDelivered ? .delivered : .sent, failures[message.id])
      }
    }

    func tell(
      _ messages: some Sequence<OutboxMessage>, _ state: DeliveryState, _ error: Failure? = nil
    ) throws(Failure) {
      for message in messages {
        let outcome = MessageSendMethod.Outcome(
          id: message.id, to: message.to.description, state: state, error: error)
        do { try report(outcome) } catch {
          throw error as? Failure ?? Failure(.internalError, stage: .request)
        }
      }
    }
  }
}
