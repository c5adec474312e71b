/// Fields of the event `message`: a message that was received or sent, by this device or by another one.
public struct MessageEvent: Codable, Sendable, Equatable {
  /// Why a message was refused (RFC 6120 §8.3).
  public struct Refusal: Codable, Sendable, Equatable {
    /// The defined condition, such as `service-unavailable`.
    public var condition: String
    /// What was said beside it; written by a peer.
    public var text: String?
    public init(condition: String, text: String? = nil) {
      self.condition = condition
      self.text = text
    }
  }

  public enum Direction: String, Codable, Sendable { case `in`, out }

  /// The id that its sender gave it.
  @Nullable public var id: String?
  /// Its id in the account's archive at the server.
  @Nullable public var stanzaId: String?
  @Nullable public var from: String?
  @Nullable public var to: String?
  public var direction: Direction
  /// `chat`, `normal`, `groupchat`, `headline`, `error`.
  public var type: String
  @Nullable public var body: String?
  @Nullable public var subject: String?
  @Nullable public var thread: String?
  /// The server has copied it from another device of the account.
  public var carbon: Bool
  /// It comes later than it was sent; `time` is when that was.
  public var delayed: Bool
  /// What is in it can be read by its recipient only; `body` may say so.
  public var encrypted: Bool
  /// The id of an earlier message of the same sender, whose place this one takes (XEP-0308).
  @Nullable public var replaces: String?
  /// The id of an earlier message of the same sender, which is taken back (XEP-0424); there is no `body` then.
  @Nullable public var retracts: String?
  /// True of a message that its sender has taken back since: there is no `body`. Else absent.
  public var retracted: Bool?
  /// True of a message that is told with the text of its newest correction, as the newest one of a conversation is. Else
  /// absent.
  public var edited: Bool?
  /// Of a message of the type `error`: why the message with this `id` was refused. Of a message of the account: it was
  /// refused, and this is why. Else absent.
  public var error: Refusal?

  public init(
    id: String? = nil, stanzaId: String? = nil, from: String?, to: String?, direction: Direction,
    type: String, body: String? = nil, subject: String? = nil, thread: String? = nil, carbon: Bool = false,
    delayed: Bool = false, encrypted: Bool = false, replaces: String? = nil, retracts: String? = nil
  ) {
    self.id = id
    self.stanzaId = stanzaId
    self.from = from
    self.to = to
    self.direction = direction
    self.type = type
    self.body = body
    self.subject = subject
    self.thread = thread
    self.carbon = carbon
    self.delayed = delayed
    self.encrypted = encrypted
    self.replaces = replaces
    self.retracts = retracts
  }
}

extension MessageEvent {
  /// What the sender does, where the body says so (XEP-0245): "/me laughs" gives "laughs".
  public var action: String? {
    // The command is these four characters exactly (§3).
    guard let body, body.hasPrefix("/me ") else { return nil }
    return String(body.dropFirst(4))
  }
}
