import AgentProtocol
import FoundationEssentials
import XMPPFeatures
import XMPPStanza

/// A receipt from another entity about a message of the account.
package struct StoredReceipt: Sendable, Equatable {
  package var receipt: ReceiptEvent
  /// Seconds since 1970.
  package var time: Double
  /// The sender; nil for the account's server.
  package var sender: JID?

  package func event(account: String, cursor: Int64) -> Event {
    Event(
      account: account, time: Timestamp.text(Date(timeIntervalSince1970: time)), cursor: cursor,
      body: .receipt(receipt))
  }

  /// Whether the sender may report about a message to `recipient`. A receipt may come from another device of the
  /// recipient. An error about a message to a full JID must come from that JID or its bare JID, because a room has many
  /// occupants.
  package func isBelievable(ofMessageTo recipient: JID?) -> Bool {
    guard let sender else { return true }
    guard let recipient, sender.bare == recipient.bare else { return false }
    return receipt.kind != .failed || recipient.isBare || sender == recipient || sender.isBare
  }
}

extension IncomingMessage {
  /// The receipt in the message; nil where there is none, or where the account itself has sent it.
  ///
  /// - Parameter now: seconds since 1970.
  package func receipt(own: JID, now: Double) -> StoredReceipt? {
    if case .carbon(isSent: true) = source { return nil }
    let sender = message.from
    let isServer = sender.map { $0 == own.bare || $0.description == own.domain } ?? true
    var receipt: ReceiptEvent
    if let error = message.error {
      guard let id = StanzaID.bounded(message.id) else { return nil }
      receipt = ReceiptEvent(id: id, kind: .failed, from: sender?.description ?? own.domain)
      receipt.condition = error.condition.rawValue
      receipt.text = error.text.map { String($0.prefix(Failure.maximumText)) }
    } else {
      guard let sender, let (kind, id) = confirmation else { return nil }
      // Another device of the account has told a sender what was displayed.
      if sender.bare == own.bare, !isToOneself(own: own) { return nil }
      receipt = ReceiptEvent(id: id, kind: kind, from: sender.description)
    }
    let isError = receipt.kind == .failed
    return StoredReceipt(
      receipt: receipt, time: time(now: now).seconds, sender: isServer && isError ? nil : sender)
  }

  private var confirmation: (ReceiptEvent.Kind, String)? {
    if message.type == .groupchat { return nil }
    if let (marker, id) = ChatMarkers.marker(in: message) {
      return (marker == .received ? .delivered : .displayed, id)
    }
    return Receipts.confirmed(by: message).map { (.delivered, $0) }
  }

  /// The chat state in the message; nil where it accompanies a body or is out of date.
  package func chatState(own: JID) -> ChatStateEvent? {
    guard source == .direct, message.type != .groupchat, message.body == nil, Delay(of: message) == nil,
      let sender = message.from, sender.bare != own.bare, let state = ChatState(of: message)
    else { return nil }
    return ChatStateEvent(from: sender.description, state: state.rawValue)
  }

  /// The receipt that it requests from this device.
  package var answer: Message? { source == .direct ? Receipts.answer(to: message) : nil }
}

extension Failure {
  /// A receipt for a message that was refused.
  package init(_ receipt: ReceiptEvent) {
    self.init(
      .stanzaError, stage: .request, detail: .text(receipt.from), condition: receipt.condition,
      text: receipt.text)
  }
}
