/// A line from the agent: an answer or a notification.
public struct RPCReply: Sendable {
  /// Nil for a notification.
  public let id: RPCID?
  /// Nil for an answer.
  public let method: String?
  private let line: String
  /// The parameters of the notification `event` or `item` as the text of a JSON object; empty for any other line.
  public let payload: Substring

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
    if let (method, start) = RPC.forwardedMethods.first(where: { line.hasPrefix($0.start) }) {
      id = nil
      self.method = method
      self.line = line
      payload = Substring(line.utf8.dropFirst(start.utf8.count).dropLast())
      return
    }
    payload = ""
    do {
      let envelope = try RPC.decode(Envelope.self, from: line)
      id = envelope.id
      method = envelope.method
      self.line = line
    } catch {
      try RPC.requireObject(line)
      throw .invalid("\(RPC.describe(error))")
    }
  }

  /// The result of `Method`; throws the error of the answer.
  public func result<Method: AgentMethod>(of _: Method.Type) throws(RPCError) -> Method.Result {
    let envelope: Outcome<Method.Result>
    do {
      envelope = try RPC.decode(Outcome<Method.Result>.self, from: line)
    } catch {
      throw .invalid("\(RPC.describe(error))")
    }
    if let error = envelope.error { throw error }
    guard let result = envelope.result else { throw .invalid("neither result nor error") }
    return result
  }

  /// The event of the notification `event`.
  public func event() throws(RPCError) -> Event {
    try parameters()
  }

  /// The notice of the notification `notice`.
  public func notice() throws(RPCError) -> AgentNotice { try parameters() }

  /// Whether the payload contains a ``Failure``, whose message and hint are in the agent's language.
  ///
  /// Texts of others cannot match, because a quotation mark in a JSON string is preceded by a backslash.
  public var containsFailure: Bool {
    // `contains` would take longer than decoding the line.
    let mark = Array(#""codes":["#.utf8)
    var payload = payload
    return payload.withUTF8 { text in
      text.indices.contains { text[$0] == mark.last && text[...$0].suffix(mark.count).elementsEqual(mark) }
    }
  }

  /// The value that the notification `item` carries.
  public func item<Item: Decodable>(_: Item.Type) throws(RPCError) -> Item { try parameters() }

  private func parameters<Value: Decodable>() throws(RPCError) -> Value {
    do {
      return payload.isEmpty
        ? try RPC.decode(Parameters<Value>.self, from: line).params
        : try RPC.decode(Value.self, from: payload)
    } catch {
      throw .invalid("\(RPC.describe(error))")
    }
  }

  private struct Parameters<Value: Decodable>: Decodable {
    var params: Value
  }

  private struct Outcome<Value: Decodable>: Decodable {
    var result: Value?
    var error: RPCError?
  }
}
