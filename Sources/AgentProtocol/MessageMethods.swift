/// A message to be sent.
public struct OutgoingMessage: Codable, Sendable, Equatable {
  /// The maximum length of an id in octets.
  public static let maximumID = 256
  /// The maximum length of body, subject and thread together, as octets of XML, which every server accepts.
  public static let maximumText = 200_000

  /// The permanent id of the message, unique in the account: a message that is sent again under its id is sent only
  /// once. Absent: the agent generates an id.
  public var id: String?
  public var to: String
  /// `chat` (default), `normal`, `headline`, `groupchat`.
  public var type: String?
  public var body: String?
  public var subject: String?
  public var thread: String?
  /// The message of the account to the same recipient that this one corrects (XEP-0308). The correction has the type of
  /// that message.
  public var corrects: Correction?

  /// The message that a correction replaces.
  public enum Correction: Codable, Sendable, Equatable {
    /// The newest message to the recipient that has a body.
    case last
    /// The message with this id.
    case message(String)

    private enum Key: String, CodingKey { case id, last }

    public init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Key.self)
      let id = try fields.decodeIfPresent(String.self, forKey: .id)
      self = id.map { .message($0) } ?? .last
    }

    /// `{"id":ID}` or `{"last":true}`.
    public func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: Key.self)
      switch self {
      case .last: try fields.encode(true, forKey: .last)
      case .message(let id): try fields.encode(id, forKey: .id)
      }
    }
  }

  public init(to: String, body: String?) {
    self.to = to
    self.body = body
  }

  /// - Parameter path: The path of the message in the parameters.
  func check(at path: String) throws(RPCError) {
    if let id, !(1...Self.maximumID).contains(id.utf8.count) { throw .invalidParameter("\(path).id") }
    if case .message(let id) = corrects, !(1...1024).contains(id.utf8.count) {
      throw .invalidParameter("\(path).corrects")
    }
    if body == nil, subject == nil { throw .invalidParameter("\(path).body") }
    if let type, !["chat", "normal", "headline", "groupchat"].contains(type) {
      throw .invalidParameter("\(path).type")
    }
    let octets = [body, subject, thread].reduce(0) { $0 + ($1.map(Self.octets) ?? 0) }
    if octets > Self.maximumText { throw .invalidParameter("\(path).body") }
  }

  /// The length of a text in octets once it is escaped for XML.
  public static func octets(_ text: String) -> Int {
    var text = text
    return text.withUTF8 { bytes in
      bytes.reduce(0) { octets, byte in
        switch byte {
        case UInt8(ascii: "&"), 0x0D: octets + 5
        case UInt8(ascii: "<"), UInt8(ascii: ">"): octets + 4
        case 0..<0x20 where byte != 0x09 && byte != 0x0A: octets + 3
        default: octets + 1
        }
      }
    }
  }
}

/// How far the delivery of a message has progressed.
public enum DeliveryState: String, Codable, Sendable {
  /// The agent has stored the message, and sends it as soon as possible.
  case queued
  /// The server has the message.
  case sent
  /// A client of the recipient has confirmed the message (XEP-0184).
  case delivered
}

/// Sends messages. Either all of them are stored, in order, or none. They are sent as soon as the session is online.
///
/// The agent reads the next requests of the connection while this one waits for the server; answers keep their order.
public enum MessageSendMethod: SubmissionMethod {
  public static let name = "message.send"
  // A message is sent only once under its id.
  public static let isIdempotent = true

  /// The maximum number of messages in a call.
  public static let maximumMessages = 256

  /// The event for which the answer waits.
  public enum Wait: String, Codable, Sendable, CaseIterable {
    /// The messages are stored.
    case none
    /// The server has acknowledged the messages, or `timeout` has passed.
    case server
    /// Clients of the recipients have confirmed the messages, or `timeout` has passed. Only for the types `chat` and
    /// `normal`.
    case delivered
  }

  public struct Parameters: SubmissionParameters {
    public var account: String?
    public var messages: [OutgoingMessage]
    @Default<Wait> public var wait: Wait
    @Default<Seconds<30>> public var timeout: Double
    /// Whether to ask the recipients' clients for confirmations (XEP-0184, XEP-0333); always with the wait `delivered`.
    @Default<True> public var asksReceipts: Bool
    public init(account: String?, messages: [OutgoingMessage]) {
      self.account = account
      self.messages = messages
    }

    public func validate() throws(RPCError) { try check(at: "messages", count: maximumMessages) }

    /// - Parameter path: The path of the messages in the parameters.
    func check(at path: String, count: Int) throws(RPCError) {
      try check(seconds: timeout)
      guard (1...count).contains(messages.count) else { throw .invalidParameter(path) }
      for message in messages {
        try message.check(at: path)
        // Messages of these types are not confirmed.
        if wait == .delivered, let type = message.type, ["headline", "groupchat"].contains(type) {
          throw .invalidParameter("wait")
        }
      }
    }
  }

  /// The outcome for one message.
  public struct Outcome: Codable, Sendable, Equatable {
    public var id: String
    public var to: String
    public var state: DeliveryState
    /// Why the message will not be delivered: it was refused or cancelled.
    public var error: Failure?
    public init(id: String, to: String, state: DeliveryState, error: Failure? = nil) {
      self.id = id
      self.to = to
      self.state = state
      self.error = error
    }
  }

  /// The outcomes in the order of the messages.
  public typealias Result = [Outcome]
}

/// The messages that the server is not known to have received, oldest first.
public enum OutboxListMethod: AgentMethod {
  public static let name = "outbox.list"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public struct Parameters: AccountParameters {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public struct Entry: Codable, Sendable, Equatable {
    public var id: String
    public var to: String
    @Nullable public var body: String?
    /// RFC 3339.
    public var accepted: String
    /// Whether the message was sent to a server that has not acknowledged it.
    public var handedOver: Bool
    public init(id: String, to: String, body: String?, accepted: String, handedOver: Bool) {
      self.id = id
      self.to = to
      self.body = body
      self.accepted = accepted
      self.handedOver = handedOver
    }
  }
  public typealias Result = [Entry]
}

/// Removes messages from the outbox that were not yet sent to a server.
public enum OutboxCancelMethod: AgentMethod {
  public static let name = "outbox.cancel"
  public static let needsPlace = false
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    public var account: String?
    @Default<NoStrings> public var ids: [String]
    @Default<False> public var all: Bool
    public init(account: String?, ids: [String], all: Bool = false) {
      self.account = account
      self.ids = ids
      self.all = all
    }
    public func validate() throws(RPCError) { if all != ids.isEmpty { throw .invalidParameter("ids") } }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// The ids of messages that will not be sent.
    public var cancelled: [String]
    /// The ids of messages that may have reached the server and cannot be cancelled.
    public var handedOver: [String]
    public init(cancelled: [String], handedOver: [String]) {
      self.cancelled = cancelled
      self.handedOver = handedOver
    }
  }
}

extension MessageSendMethod.Wait: DefaultValue {
  public static var defaultValue: MessageSendMethod.Wait { .server }
}
