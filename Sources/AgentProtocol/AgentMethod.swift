/// A method of the agent: its JSON-RPC name, parameters and result.
public protocol AgentMethod: Sendable {
  associatedtype Parameters: MethodParameters
  associatedtype Result: Codable & Sendable
  static var name: String { get }
  /// Whether the request may be carried out twice without harm, so that it may be sent before the agent's version is
  /// known.
  static var isIdempotent: Bool { get }
  /// Whether the request has no lasting effect if its client gives up: it only reads, or the agent undoes it.
  static var mayBeAbandoned: Bool { get }
  /// Whether a one-time agent has to ask a server for the answer.
  static var asksServer: Bool { get }
  /// Whether the request counts towards the number of clients that the agent serves at once, and fails at the limit.
  static var needsPlace: Bool { get }
  /// Whether the client still counts after the answer, until its connection closes.
  static func occupiesPlaceAfterAnswer(_ parameters: Parameters) -> Bool
  /// Whether the answer precedes the pending answers to earlier requests of the connection.
  static var isAnsweredFirst: Bool { get }
}

extension AgentMethod {
  public static var isIdempotent: Bool { false }
  public static var mayBeAbandoned: Bool { false }
  public static var asksServer: Bool { false }
  public static var needsPlace: Bool { true }
  public static func occupiesPlaceAfterAnswer(_ parameters: Parameters) -> Bool { false }
  public static var isAnsweredFirst: Bool { false }
}

/// A method that stores something to be sent, and answers when its fate is known.
///
/// Meanwhile, the agent reads the next requests of the connection. If the agent serves as many clients as it can, the
/// request waits for its turn, within its time limit.
public protocol SubmissionMethod: AgentMethod where Parameters: SubmissionParameters {}

/// The parameters of a method.
public protocol MethodParameters: Codable, Sendable {
  /// Throws an error that names the first parameter whose value is not allowed.
  func validate() throws(RPCError)
}

extension MethodParameters {
  public func validate() throws(RPCError) {}

  /// Throws unless the value is between 0 and one year, which every `Duration` can represent.
  func check(seconds: Double, _ name: String = "timeout") throws(RPCError) {
    guard seconds >= 0, seconds <= 31_536_000 else { throw .invalidParameter(name) }
  }
}

/// Parameters of a method for the session of one account.
public protocol AccountParameters: MethodParameters {
  /// Absent: the default account.
  var account: String? { get }
}

/// Parameters of a ``SubmissionMethod``.
public protocol SubmissionParameters: AccountParameters {
  /// The time limit of the answer, in seconds; 0: none.
  var timeout: Double { get set }
}

/// Parameters of a method that may log in to the account on a stream of its own.
package protocol OwnStreamParameters: AccountParameters {
  /// Verified with the server. Absent: the session, or what is stored, is enough.
  var currentPassword: String? { get }
  /// Only the options given now; absent ones have their stored value.
  var options: ConnectionOptions { get }
  /// Seconds.
  var timeout: Double { get }
}

/// The object `{}`.
public struct EmptyObject: MethodParameters, Equatable {
  public init() {}
}
