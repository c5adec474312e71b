/// Fields of the event `receipt`: how far a message of the account has come.
public struct ReceiptEvent: Codable, Sendable, Equatable {
  public enum Kind: String, Codable, Sendable, CaseIterable {
    /// The own server has it.
    case server
    /// A client of its recipient has it (XEP-0184).
    case delivered
    /// Its recipient may have seen it, and all before it (XEP-0333).
    case displayed
    /// It was refused.
    case failed
  }

  /// Id of the message.
  public var id: String
  public var kind: Kind
  /// Who says so: the domain of the own server, or a JID of the recipient.
  public var from: String
  /// Why it was refused: the condition of RFC 6120 §8.3.3, and what was said beside it.
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

/// Fields of the event `chatState`: what somebody is doing in the conversation with the account (XEP-0085).
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
