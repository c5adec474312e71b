/// The id of a JSON-RPC request.
public enum RPCID: Hashable, Sendable, Codable {
  case number(Int64)
  case string(String)
  /// Only in the answer to an unreadable request.
  case null

  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let text = try? value.decode(String.self) {
      self = .string(text)
    } else {
      self = .number(try value.decode(Int64.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    switch self {
    case .number(let number): try value.encode(number)
    case .string(let text): try value.encode(text)
    case .null: try value.encodeNil()
    }
  }
}

/// The error object of a JSON-RPC response (JSON-RPC 2.0 §5.1).
public struct RPCError: Error, Codable, Sendable, Equatable {
  public let code: Int
  public let message: String
  /// The failure that the command line shows, and whose exit status it returns.
  public let data: Failure?

  public init(code: Int, message: String, data: Failure? = nil) {
    self.code = code
    self.message = message
    self.data = data
  }

  /// The error for a valid request that failed.
  public init(_ failure: Failure) {
    self.init(code: Self.failed, message: failure.message, data: failure)
  }

  /// The error that a client gets for an error that a method has thrown.
  package init(any error: any Error) {
    self =
      switch error {
      case let error as RPCError: error
      case let failure as Failure: RPCError(failure)
      default: RPCError(Failure(.internalError, stage: .request))
      }
  }

  /// The error for a client that violates the line protocol.
  package init(_ violation: LineFramer.Violation) {
    switch violation {
    case .tooLong:
      self.init(code: Self.parseError, message: "a line is longer than \(LineFramer.maximumLine) octets")
    case .invalidUTF8:
      self.init(code: Self.parseError, message: "a line is not UTF-8")
    }
  }

  public static let failed = -32000
  public static let parseError = -32700
  public static let invalidRequest = -32600
  public static let methodNotFound = -32601
  public static let invalidParameters = -32602

  static func parse() -> RPCError { RPCError(code: parseError, message: "Parse error") }

  static func invalid(_ why: String) -> RPCError {
    RPCError(code: invalidRequest, message: "Invalid Request: \(why)")
  }

  /// The error for an unknown method.
  public static func unknownMethod(_ name: String) -> RPCError {
    RPCError(code: methodNotFound, message: "Method not found: \(name.prefix(100))")
  }

  /// The error for a parameter whose value is not allowed.
  public static func invalidParameter(_ name: String) -> RPCError {
    parameters(.agent(.parameterValue, name))
  }

  static func parameters(_ why: FailureDetail) -> RPCError {
    RPCError(
      code: invalidParameters, message: "Invalid params: \(why)",
      data: Failure(.invalidParameter, stage: .input, detail: why))
  }

  /// The failure to show for any kind of error.
  public var failure: Failure {
    data ?? Failure(.internalError, stage: .request, detail: .text("\(message) (\(code))"))
  }
}
