/// Fields of the event `receipt`: the delivery of a message of the account has progressed.
public struct ReceiptEvent: Codable, Sendable, Equatable {
  public enum Kind: String, Codable, Sendable, CaseIterable {
    /// The account's server has the message.
    case server
    /// A client of the recipient has the message (XEP-0184).
    case delivered
    /// The recipient may have seen the message and all earlier ones (XEP-0333).
    case displayed
    /// The message was refused.
    case failed
  }

  /// The id of the message.
  public var id: String
  public var kind: Kind
  /// The source of the receipt: the domain of the account's server, or a JID of the recipient.
  public var from: String
  /// Why the message was refused: the condition (RFC 6120 §8.3.3) and the text of the error.
  public var condition: String?
  public var text: String?

  public init(id: String, kind: Kind, from: String, condition: String? = nil, text: String? = nil) {
    self.id = id
    self.kind = kind
    self.from = from
    self.condition = condition
    self.text = text
  }
}

/// Fields of the event `chatState`: the other side of a conversation has sent its chat state (XEP-0085).
public struct ChatStateEvent: Codable, Sendable, Equatable {
  /// Full JID.
  public var from: String
  /// `active`, `composing`, `paused`, `inactive` or `gone`.
  public var state: String
  public init(from: String, state: String) {
    self.from = from
    self.state = state
  }
}
