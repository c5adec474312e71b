import AgentProtocol
import XMPPStanza

extension OutboxMessage {
  /// Validates a message that a client wants to send.
  package init(_ message: OutgoingMessage, asksReceipt: Bool, accepted: Double) throws(Failure) {
    let to = try JID(given: message.to)
    self.init(
      id: message.id ?? Message.makeID(), to: to, type: Message.Kind(rawValue: message.type ?? "chat"),
      body: message.body, subject: message.subject, thread: message.thread, corrects: message.corrects,
      asksReceipt: asksReceipt, accepted: accepted)
  }
}
