/// Fields of the event `message`: a message that was received or sent by this device or another one of the account.
public struct MessageEvent: Codable, Sendable, Equatable {
  /// Why a message was refused (RFC 6120 §8.3).
  public struct Refusal: Codable, Sendable, Equatable {
    /// The defined condition, such as `service-unavailable`.
    public var condition: String
    /// The explanation in the error, written by a peer.
    public var text: String?
    public init(condition: String, text: String? = nil) {
      self.condition = condition
      self.text = text
    }
  }

  public enum Direction: String, Codable, Sendable { case `in`, out }

  /// The id from the sender.
  @Nullable public var id: String?
  /// The id in the account's archive at the server.
  @Nullable public var stanzaId: String?
  @Nullable public var from: String?
  @Nullable public var to: String?
  public var direction: Direction
  /// `chat`, `normal`, `groupchat`, `headline`, `error`.
  public var type: String
  @Nullable public var body: String?
  @Nullable public var subject: String?
  @Nullable public var thread: String?
  /// Whether the server copied the message from another device of the account.
  public var carbon: Bool
  /// Whether the message arrived late; `time` is when it was sent.
  public var delayed: Bool
  /// Whether the content is encrypted for its recipient; `body` may say so.
  public var encrypted: Bool
  /// The id of an earlier message of the same sender that this one corrects (XEP-0308).
  @Nullable public var replaces: String?
  /// The id of an earlier message of the same sender that this one retracts (XEP-0424); there is no `body` then.
  @Nullable public var retracts: String?
  /// True if the sender has retracted the message since, so that there is no `body`. Otherwise absent.
  public var retracted: Bool?
  /// True if the text is that of the newest correction, as in the newest message of a conversation. Otherwise absent.
  public var edited: Bool?
  /// For a message of the type `error`: why the message with this `id` was refused. For a message of the account: why
  /// it was refused. Otherwise absent.
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
  /// The JID of the contact, the room or the occupant with whose appearance the message is shown: the sender of a
  /// received message, or the recipient of a sent one. It is bare unless it is an occupant's.
  public var shownJID: String? {
    let jid = direction == .out ? to : from
    return type == "groupchat" && direction == .in ? jid : jid.map { String($0.prefix { $0 != "/" }) }
  }

  /// The action in a body that begins with `/me` (XEP-0245): "laughs" for "/me laughs".
  public var action: String? {
    // The command is exactly these four characters (§3).
    guard let body, body.hasPrefix("/me ") else { return nil }
    return String(body.dropFirst(4))
  }
}
