import FoundationEssentials

/// Writes the JSON-RPC 2.0 messages of the agent and the command line as lines.
///
/// Every function returns one JSON object with sorted keys, followed by a line feed.
public enum RPC {
  /// The method of the notification that carries an ``Event``.
  public static let eventMethod = "event"
  /// The method of the notification that carries an ``AgentNotice``.
  public static let noticeMethod = "notice"
  /// The method of the notification that carries one of the values that a request asks for. The command line prints
  /// such a value unchanged.
  public static let itemMethod = "item"
  /// The methods of the notifications whose parameters clients pass on unchanged.
  static let forwardedMethods = [eventMethod, itemMethod].map { (method: $0, start: start(of: $0)) }

  /// The beginning of a notification's line, which its parameters and one closing brace follow.
  private static func start(of method: String) -> String {
    #"{"jsonrpc":"2.0","method":"\#(method)","params":"#
  }

  public static func request<Method: AgentMethod>(
    _: Method.Type, id: RPCID, _ parameters: Method.Parameters
  ) -> String {
    message(Request(id: id, method: Method.name, params: parameters))
  }

  public static func answer(_ id: RPCID, _ result: some Encodable) -> String {
    message(Answer(id: id, result: result))
  }

  public static func answer(_ id: RPCID, _ error: RPCError) -> String {
    message(ErrorAnswer(id: id, error: error))
  }

  public static func notification(_ event: Event) -> String {
    notification(eventMethod, event, by: messageEncoder)
  }

  public static func notification(_ notice: AgentNotice) -> String {
    notification(noticeMethod, notice, by: messageEncoder)
  }

  public static func notification(item: some Encodable) -> String {
    notification(itemMethod, item, by: plainEncoder)
  }

  /// Only the parameters are encoded, because encoding an object around them would take longer.
  private static func notification(_ method: String, _ parameters: some Encodable, by encoder: JSONEncoder)
    -> String
  {
    start(of: method) + text(parameters, by: encoder) + "}\n"
  }

  /// Any value as one line of JSON, as `--json` prints it.
  public static func line(_ value: some Encodable) -> String { line(value, by: plainEncoder) }

  /// The line with which a failing agent reports a failure to the command that has started it.
  public static func report(_ failure: Failure) -> String { message(failure) }

  /// A line for another process, which shows failures in its own language.
  private static func message(_ value: some Encodable) -> String { line(value, by: messageEncoder) }

  private static func line(_ value: some Encodable, by encoder: JSONEncoder) -> String {
    text(value, by: encoder) + "\n"
  }

  private static func text(_ value: some Encodable, by encoder: JSONEncoder) -> String {
    let data = (try? encoder.encode(value)) ?? Data("{}".utf8)
    return String(decoding: data, as: UTF8.self)
  }

  private static let plainEncoder = encoder(encodesSentences: false)
  private static let messageEncoder = encoder(encodesSentences: true)

  private static func encoder(encodesSentences: Bool) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.userInfo[.encodesSentences] = encodesSentences
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return encoder
  }

  private struct Request<Parameters: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let id: RPCID
    let method: String
    let params: Parameters
  }

  private struct Answer<Result: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let id: RPCID
    let result: Result
  }

  private struct ErrorAnswer: Encodable {
    let jsonrpc = "2.0"
    let id: RPCID
    let error: RPCError
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from line: some StringProtocol) throws -> Value {
    try JSONDecoder().decode(type, from: Data(line.utf8))
  }

  /// Refuses a NUL, with which the decoder would mistake the line for UTF-16.
  static func requireText(_ line: String) throws(RPCError) {
    let hasNUL = line.utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? line.utf8.contains(0)
    if hasNUL { throw .parse() }
  }

  /// Throws the error for an undecodable line: invalid JSON, or JSON that is not an object.
  static func requireObject(_ line: String) throws(RPCError) {
    struct AnyJSON: Decodable {
      let isObject: Bool
      private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
      }
      init(from decoder: any Decoder) { isObject = (try? decoder.container(keyedBy: Key.self)) != nil }
    }
    guard let json = try? decode(AnyJSON.self, from: line) else { throw .parse() }
    guard json.isObject else { throw .invalid("not an object; batches are not supported") }
  }

  /// The place and kind of a decoding error, without the value, which may be a secret.
  static func describe(_ error: any Error) -> FailureDetail {
    func path(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
      let path = (context.codingPath + (last.map { [$0] } ?? [])).map(\.stringValue)
        .filter { $0 != "params" }.joined(separator: ".")
      return path.isEmpty ? "something" : path
    }
    return switch error {
    case DecodingError.keyNotFound(let key, let context): .agent(.parameterMissing, path(context, key))
    case DecodingError.valueNotFound(_, let context): .agent(.parameterNull, path(context))
    case DecodingError.typeMismatch(_, let context): .agent(.parameterType, path(context))
    case DecodingError.dataCorrupted(let context): .agent(.parameterValue, path(context))
    default: .store(.notUnderstood)
    }
  }
}
