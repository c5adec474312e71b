/// A message to be sent.
public struct OutgoingMessage: Codable, Sendable, Equatable {
  /// Octets of an id.
  public static let maximumID = 256
  /// Octets of body, subject and thread together, as they are written in XML: what every server takes.
  public static let maximumText = 200_000

  /// Unique to the account, and the message's for ever: what is sent twice under one id is sent once. Absent: the
  /// agent makes one.
  public var id: String?
  public var to: String
  /// `chat` (default), `normal`, `headline`, `groupchat`.
  public var type: String?
  public var body: String?
  public var subject: String?
  public var thread: String?
  /// The message takes the place of one that the account has sent to the same recipient (XEP-0308); its type is that of
  /// the other one.
  public var corrects: Correction?

  /// Which message another one corrects.
  public enum Correction: Codable, Sendable, Equatable {
    /// The newest to the recipient that has a text.
    case last
    /// The one with this id.
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

  /// - Parameter path: where the message is among the parameters.
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

  /// Octets of a text in XML, where it is written with references.
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

/// How far a message has come.
public enum DeliveryState: String, Codable, Sendable {
  /// The agent has it, and sends it as soon as it can.
  case queued
  /// The server has it.
  case sent
  /// A client of its recipient has confirmed it (XEP-0184).
  case delivered
}

/// Sends messages: all of them are stored, in their order, or none is. They are sent as soon as the session is online.
///
/// The agent takes the next requests of the connection while this one waits for the server; answers keep their order.
public enum MessageSendMethod: SubmissionMethod {
  public static let name = "message.send"
  // Under its id a message is sent once.
  public static let isIdempotent = true

  /// Messages of one call.
  public static let maximumMessages = 256

  /// Until when the answer waits.
  public enum Wait: String, Codable, Sendable, CaseIterable {
    /// The messages are stored.
    case none
    /// The server has acknowledged them, or `timeout` is over.
    case server
    /// Clients of their recipients have confirmed them, or `timeout` is over. Only for the types `chat` and `normal`.
    case delivered
  }

  public struct Parameters: SubmissionParameters {
    public var account: String?
    public var messages: [OutgoingMessage]
    @Default<Wait> public var wait: Wait
    @Default<Seconds<30>> public var timeout: Double
    /// Clients of the recipients are asked to confirm them (XEP-0184, XEP-0333); always where `wait` waits for that.
    @Default<True> public var asksReceipts: Bool
    public init(account: String?, messages: [OutgoingMessage]) {
      self.account = account
      self.messages = messages
    }

    public func validate() throws(RPCError) { try check(at: "messages", count: maximumMessages) }

    /// - Parameter path: where the messages are among the parameters.
    func check(at path: String, count: Int) throws(RPCError) {
      try check(seconds: timeout)
      guard (1...count).contains(messages.count) else { throw .invalidParameter(path) }
      for message in messages {
        try message.check(at: path)
        // Nobody confirms these.
        if wait == .delivered, let type = message.type, ["headline", "groupchat"].contains(type) {
          throw .invalidParameter("wait")
        }
      }
    }
  }

  /// A message of the call.
  public struct Outcome: Codable, Sendable, Equatable {
    public var id: String
    public var to: String
    public var state: DeliveryState
    /// Why it will not come any further: refused, or cancelled.
    public var error: Failure?
    public init(id: String, to: String, state: DeliveryState, error: Failure? = nil) {
      self.id = id
      self.to = to
      self.state = state
      self.error = error
    }
  }

  /// In the order of the call.
  public typealias Result = [Outcome]
}

/// The messages that the server is not known to have, oldest first.
public enum OutboxListMethod: AgentMethod {
  public static let name = "outbox.list"
  public static let isQuestion = true
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
    /// It was handed to a server, which has not acknowledged it.
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

/// Takes messages out of the outbox that were not handed to a server.
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
    /// Ids of the messages that will not be sent.
    public var cancelled: [String]
    /// Those of the wanted ones that were handed to a server already, which may have them.
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
