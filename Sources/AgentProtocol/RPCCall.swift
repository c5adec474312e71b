/// A request or notification that the agent has received. Its parameters are decoded once the method is known.
public struct RPCCall: Sendable {
  /// Nil for a notification, which has no answer.
  public let id: RPCID?
  public let method: String
  private let line: String

  /// Reads one line.
  ///
  /// Arrays are refused, because batches are not supported. The answer to an error has the id `null`.
  public init(line: String) throws(RPCError) {
    struct Envelope: Decodable {
      enum Key: String, CodingKey { case jsonrpc, id, method }
      var id: RPCID?
      var method: String
      init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        guard try fields.decode(String.self, forKey: .jsonrpc) == "2.0" else {
          throw RPCError.invalid("jsonrpc is not 2.0")
        }
        id = fields.contains(.id) ? try fields.decode(RPCID.self, forKey: .id) : nil
        method = try fields.decode(String.self, forKey: .method)
      }
    }
    try RPC.requireText(line)
    do {
      let envelope = try RPC.decode(Envelope.self, from: line)
      id = envelope.id
      method = envelope.method
      self.line = line
    } catch let error as RPCError {
      throw error
    } catch {
      try RPC.requireObject(line)
      throw .invalid("\(RPC.describe(error))")
    }
  }

  /// The validated parameters of `Method`. Absent parameters are equivalent to `{}`.
  public func parameters<Method: AgentMethod>(of _: Method.Type) throws(RPCError) -> Method.Parameters {
    let parameters = try decode(Method.Parameters.self)
    try parameters.validate()
    return parameters
  }

  private func decode<Value: Decodable>(_: Value.Type) throws(RPCError) -> Value {
    do {
      if let parameters = try RPC.decode(Parameters<Value>.self, from: line).params {
        return parameters
      }
      return try RPC.decode(Value.self, from: "{}")
    } catch {
      throw .parameters(RPC.describe(error))
    }
  }

  private struct Parameters<Value: Decodable>: Decodable {
    var params: Value?
  }
}
