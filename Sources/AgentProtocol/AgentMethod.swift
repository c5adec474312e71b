/// A call of the agent: its JSON-RPC method name, parameters and result.
public protocol AgentMethod: Sendable {
  associatedtype Parameters: MethodParameters
  associatedtype Result: Codable & Sendable
  static var name: String { get }
  /// Whether carrying it out twice is as good as once: such a request need not wait to know the agent's version.
  static var isIdempotent: Bool { get }
  /// Whether everything is as it was when a client gives the request up: it only asks, or the agent undoes it.
  static var isQuestion: Bool { get }
  /// Whether a one-time agent asks a server for the answer.
  static var asksServer: Bool { get }
  /// Whether the request fails while the agent does something for as many clients as it can.
  static var needsPlace: Bool { get }
  /// Whether the client keeps its place after the answer, for as long as its connection lives.
  static func keepsPlace(_ parameters: Parameters) -> Bool
  /// Whether its answer is written ahead of the answers that earlier requests of the connection still wait for.
  static var isPrompt: Bool { get }
}

extension AgentMethod {
  public static var isIdempotent: Bool { false }
  public static var isQuestion: Bool { false }
  public static var asksServer: Bool { false }
  public static var needsPlace: Bool { true }
  public static func keepsPlace(_ parameters: Parameters) -> Bool { false }
  public static var isPrompt: Bool { false }
}

/// A method that stores something to be sent, and answers when it is known what has become of it.
///
/// The agent takes the next requests of the connection while an answer is waited for. Where there is no place the request
/// waits for one, within its time limit.
public protocol SubmissionMethod: AgentMethod where Parameters: SubmissionParameters {}

/// What a method is called with.
public protocol MethodParameters: Codable, Sendable {
  /// Throws an error that names the first parameter whose value is not allowed.
  func validate() throws(RPCError)
}

extension MethodParameters {
  public func validate() throws(RPCError) {}

  /// Throws unless a `Duration` surely holds the seconds: at most a year.
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
  /// Seconds until the answer at the latest; 0 for no bound.
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
public struct Nothing: MethodParameters, Equatable {
  public init() {}
}
