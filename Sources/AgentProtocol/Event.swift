/// An event of an account, as `imctl watch` prints it.
///
/// Its JSON is one flat object: the envelope (`event`, `account`, `time`, `cursor`) together with the fields of
/// ``Body``.
public struct Event: Sendable, Equatable {
  /// Bare JID of the account.
  public var account: String
  /// RFC 3339, UTC, with milliseconds: `2026-11-21T02:42:13.123Z`.
  public var time: String
  /// Grows with every event of the agent, across restarts.
  public var cursor: Int64
  public var body: Body

  /// Indirect, because the largest bodies have hundreds of octets, which every copy of a list of events would move.
  public indirect enum Body: Sendable, Equatable {
    case state(StateChange)
    case synced(SyncedPart)
    case dataReady(code: Int)
    case success(LoginSuccess)
    case presence(PresenceChange)
    case message(MessageEvent)
    case contact(ContactEvent)
    case device(DeviceEvent)
    case conversation(ConversationEvent)
    case receipt(ReceiptEvent)
    case chatState(ChatStateEvent)
    case wire(WireLine)
    /// The token command failed; the credentials given beforehand are tried instead.
    case tokenUnavailable(cause: Failure)
    case kicked(Kick)
    case loginRequired(LoginRequired)
    case stanzaRefused(StanzaRefused)
    case store(StoreChange)
    /// Events between the requested cursor and this one are not replayed.
    case gap
  }

  public init(account: String, time: String, cursor: Int64, body: Body) {
    self.account = account
    self.time = time
    self.cursor = cursor
    self.body = body
  }

  /// The name in the field `event`, and in `watch --events`.
  public var name: String {
    switch body {
    case .state: "state"
    case .synced: "synced"
    case .dataReady: "dataReady"
    case .success: "success"
    case .presence: "presence"
    case .message: "message"
    case .contact: "contact"
    case .device: "device"
    case .conversation: "conversation"
    case .receipt: "receipt"
    case .chatState: "chatState"
    case .wire: "wire"
    case .tokenUnavailable: "tokenUnavailable"
    case .kicked: "kicked"
    case .loginRequired: "loginRequired"
    case .stanzaRefused: "stanzaRefused"
    case .store: "store"
    case .gap: "gap"
    }
  }
}

extension Event {
  /// The names of the events that are stored and replayed to clients that ask for the events since a cursor.
  public static let storedNames: Set<String> = ["message", "receipt", "contact", "conversation", "device"]

  public var isStored: Bool {
    switch body {
    case .message, .receipt, .contact, .conversation, .device: true
    default: false
    }
  }

  /// The total length of the texts from other users, which are not shortened, in octets.
  public var octets: Int {
    let texts: [String?] =
      switch body {
      case .message(let message): [message.body, message.subject, message.thread]
      case .presence(let change): [change.status]
      case .wire(let line): [line.xml]
      default: []
      }
    return texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
  }
}

/// The state of a session. A full login passes `linking linkOK logining loginOK syncing syncOK`, in this order.
public enum SessionState: String, Codable, Sendable, CaseIterable {
  case offline, linking, linkOK, logining, loginOK, syncing, syncOK
  case loseConnection, netChanged, waiting, linkFailed, loginFailed, kicked
}

/// Fields of the event `state`.
public struct StateChange: Codable, Sendable, Equatable {
  public var state: SessionState
  public var previous: SessionState
  public var cause: Failure?
  public var attempt: Int?
  /// Seconds until the next attempt.
  public var retryIn: Double?
  public var fullJID: String?
  public var resumed: Bool?
  public var mechanism: String?
  public var tls: TLSSummary?
  public var roundTrips: Int?
  public var host: String?
  public var port: Int?
  /// With `netChanged`: the network interface that has changed; absent after a sleep of the machine.
  public var interface: String?
  /// With `syncing`: the parts that the new session synchronises.
  public var parts: [SyncPart]?
  /// With `syncOK`: the number of items in each synchronised part. Parts that the server lacks, or that are still being
  /// synchronised, are missing.
  public var counts: [SyncPart: Int]?
  /// With `syncOK`: the parts that took too long and are still being synchronised. Absent if there are none.
  public var late: [SyncPart]?

  public init(state: SessionState, previous: SessionState) {
    self.state = state
    self.previous = previous
  }
}

/// A part of the data that a new session synchronises with its server.
public enum SyncPart: String, Codable, CodingKeyRepresentable, Sendable, CaseIterable {
  /// Contacts; blocked addresses.
  case roster, blocklist
  /// Bookmarks of rooms; settings of conversations; markers of what other devices have read.
  case groups, conversations, markers
  /// Messages from the archive; messages that the server stored while offline; requests to see presence.
  case roaming, offline, notices
}

/// Fields of the event `synced`: a part of a new session is synchronised with the local store.
public struct SyncedPart: Codable, Sendable, Equatable {
  public var part: SyncPart
  /// The number of items; of messages, only new ones count. Absent if the server lacks the part.
  public var count: Int?
  public init(part: SyncPart, count: Int?) {
    self.part = part
    self.count = count
  }
}

/// TLS version and cipher, as OpenSSL names them: `TLSv1.3`, `TLS_AES_256_GCM_SHA384`.
public struct TLSSummary: Codable, Sendable, Equatable {
  public var version: String
  public var cipher: String
  public init(version: String, cipher: String) {
    self.version = version
    self.cipher = cipher
  }
}

/// Fields of the event `success`, which ends a `login`.
public struct LoginSuccess: Codable, Sendable, Equatable {
  /// Bare JID.
  public var userId: String
  public var fullJID: String
  public var milliseconds: Int
  /// The parts that are still being synchronised. Absent if there are none.
  public var late: [SyncPart]?
  /// Always `loginSuccess`; absent in events of earlier agents.
  public var result: LoginResult? = .loginSuccess
  public init(userId: String, fullJID: String, milliseconds: Int) {
    self.userId = userId
    self.fullJID = fullJID
    self.milliseconds = milliseconds
  }
}

/// Fields of the event `presence`. `show` is one of `online chat away xa dnd offline`.
public struct PresenceChange: Codable, Sendable, Equatable {
  /// The full or bare JID that sent the presence.
  public var from: String
  public var show: PresenceShow
  @Nullable public var status: String?
  public var priority: Int
  public init(from: String, show: PresenceShow, status: String?, priority: Int) {
    self.from = from
    self.show = show
    self.status = status
    self.priority = priority
  }
}

/// Fields of the event `kicked`: the session was ended by another party.
public struct Kick: Codable, Sendable, Equatable {
  /// The cause, with the `condition` and `text` of the server.
  public var cause: Failure
  /// The full JID of the ended session.
  public var fullJID: String
  /// RFC 3339: when the session came online.
  public var onlineSince: String?
  /// The agent's reaction.
  public var next: OnKick
  /// Seconds until the reaction; absent if there is none.
  public var retryIn: Double?
  /// The device of the account that ended the session; null if unknown.
  @Nullable public var by: DeviceIdentity?
  public init(cause: Failure, fullJID: String, onlineSince: String?, next: OnKick, retryIn: Double? = nil) {
    self.cause = cause
    self.fullJID = fullJID
    self.onlineSince = onlineSince
    self.next = next
    self.retryIn = retryIn
  }
}

/// Fields of the event `loginRequired`: the stored credentials were refused.
public struct LoginRequired: Codable, Sendable, Equatable {
  public var cause: Failure
  /// True while the user's command is asked for a new secret; false if only the user can continue.
  public var asksCommand: Bool
  public init(cause: Failure, asksCommand: Bool) {
    self.cause = cause
    self.asksCommand = asksCommand
  }
}

/// Fields of the event `store`: the agent's files were damaged, or cannot be read or written, or work again.
public struct StoreChange: Codable, Sendable, Equatable {
  /// Absent: the problem is solved.
  public var cause: Failure?
  /// Ids of this account's unsent messages that are lost; absent if none is known to be lost.
  public var lost: [String]?
  public init(cause: Failure?, lost: [String]? = nil) {
    self.cause = cause
    self.lost = lost
  }
}

/// Fields of the event `wire`: an element that was sent or received, without its secrets. Only clients that name `wire`
/// explicitly get it, and only for sessions that were logged in with `wire`.
public struct WireLine: Codable, Sendable, Equatable {
  /// `sent` or `received`.
  public var direction: String
  public var xml: String
  public init(direction: String, xml: String) {
    self.direction = direction
    self.xml = xml
  }
}

extension Event: Codable {
  private enum Key: String, CodingKey { case event, account, time, cursor, code, cause }

  public func encode(to encoder: any Encoder) throws {
    var envelope = encoder.container(keyedBy: Key.self)
    try envelope.encode(name, forKey: .event)
    try envelope.encode(account, forKey: .account)
    try envelope.encode(time, forKey: .time)
    try envelope.encode(cursor, forKey: .cursor)
    switch body {
    case .state(let change): try change.encode(to: encoder)
    case .synced(let part): try part.encode(to: encoder)
    case .dataReady(let code): try envelope.encode(code, forKey: .code)
    case .success(let success): try success.encode(to: encoder)
    case .presence(let change): try change.encode(to: encoder)
    case .message(let message): try message.encode(to: encoder)
    case .contact(let contact): try contact.encode(to: encoder)
    case .device(let device): try device.encode(to: encoder)
    case .conversation(let change): try change.encode(to: encoder)
    case .receipt(let receipt): try receipt.encode(to: encoder)
    case .chatState(let change): try change.encode(to: encoder)
    case .wire(let line): try line.encode(to: encoder)
    case .tokenUnavailable(let cause): try envelope.encode(cause, forKey: .cause)
    case .kicked(let kick): try kick.encode(to: encoder)
    case .loginRequired(let required): try required.encode(to: encoder)
    case .stanzaRefused(let refused): try refused.encode(to: encoder)
    case .store(let change): try change.encode(to: encoder)
    case .gap: break
    }
  }

  public init(from decoder: any Decoder) throws {
    let envelope = try decoder.container(keyedBy: Key.self)
    account = try envelope.decode(String.self, forKey: .account)
    time = try envelope.decode(String.self, forKey: .time)
    cursor = try envelope.decode(Int64.self, forKey: .cursor)
    let name = try envelope.decode(String.self, forKey: .event)
    switch name {
    case "state": body = .state(try StateChange(from: decoder))
    case "synced": body = .synced(try SyncedPart(from: decoder))
    case "dataReady": body = .dataReady(code: try envelope.decode(Int.self, forKey: .code))
    case "success": body = .success(try LoginSuccess(from: decoder))
    case "presence": body = .presence(try PresenceChange(from: decoder))
    case "message": body = .message(try MessageEvent(from: decoder))
    case "contact": body = .contact(try ContactEvent(from: decoder))
    case "device": body = .device(try DeviceEvent(from: decoder))
    case "conversation": body = .conversation(try ConversationEvent(from: decoder))
    case "receipt": body = .receipt(try ReceiptEvent(from: decoder))
    case "chatState": body = .chatState(try ChatStateEvent(from: decoder))
    case "wire": body = .wire(try WireLine(from: decoder))
    case "tokenUnavailable":
      body = .tokenUnavailable(cause: try envelope.decode(Failure.self, forKey: .cause))
    case "kicked": body = .kicked(try Kick(from: decoder))
    case "loginRequired": body = .loginRequired(try LoginRequired(from: decoder))
    case "stanzaRefused": body = .stanzaRefused(try StanzaRefused(from: decoder))
    case "store": body = .store(try StoreChange(from: decoder))
    case "gap": body = .gap
    default:
      throw DecodingError.dataCorruptedError(
        forKey: .event, in: envelope, debugDescription: "no event is called \(name)")
    }
  }
}
