/// What the agent sends: an answer, or a notification.
public struct RPCReply: Sendable {
  /// `nil`: a notification.
  public let id: RPCID?
  /// `nil`: an answer.
  public let method: String?
  private let line: String

  public init(line: String) throws(RPCError) {
    struct Envelope: Decodable {
      enum Key: String, CodingKey { case id, method }
      var id: RPCID?
      var method: String?
      init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        id = fields.contains(.id) ? try fields.decode(RPCID.self, forKey: .id) : nil
        method = try fields.decodeIfPresent(String.self, forKey: .method)
      }
    }
    try RPC.requireText(line)
    do {
      let envelope = try RPC.decode(Envelope.self, from: line)
      id = envelope.id
      method = envelope.method
      self.line = line
    } catch {
      try RPC.requireObject(line)
      throw .invalid(RPC.describe(error))
    }
  }

  /// The result of `Method`, or the error that answered instead.
  public func result<Method: AgentMethod>(of _: Method.Type) throws(RPCError) -> Method.Result {
    let envelope: Outcome<Method.Result>
    do {
      envelope = try RPC.decode(Outcome<Method.Result>.self, from: line)
    } catch {
      throw .invalid(RPC.describe(error))
    }
    if let error = envelope.error { throw error }
    guard let result = envelope.result else { throw .invalid("neither result nor error") }
    return result
  }

  /// The event of the notification `event`.
  public func event() throws(RPCError) -> Event {
    struct Envelope: Decodable {
      var params: Event
    }
    do {
      return try RPC.decode(Envelope.self, from: line).params
    } catch {
      throw .invalid(RPC.describe(error))
    }
  }

  private struct Outcome<Value: Decodable>: Decodable {
    var result: Value?
    var error: RPCError?
  }
}
