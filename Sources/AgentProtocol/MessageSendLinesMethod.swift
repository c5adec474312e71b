/// Sends each line of a text as a message to one recipient. Does the same as ``MessageSendMethod`` with much less JSON.
public enum MessageSendLinesMethod: SubmissionMethod {
  public static let name = "message.sendLines"
  // A message is sent only once under its id.
  public static let isIdempotent = true

  /// The maximum number of non-empty lines in a call.
  public static let maximumLines = 512

  public struct Parameters: SubmissionParameters, Equatable {
    public var account: String?
    /// The prefix of the messages' ids, unique in the account: a message has this prefix, a dot, and the number of its
    /// line from 0.
    public var id: String
    public var to: String
    /// The fields of ``OutgoingMessage`` for all messages.
    public var type: String?
    public var subject: String?
    public var thread: String?
    /// The lines, separated by line feeds; at most ``maximumLines``. Empty lines are skipped and not counted.
    public var text: String
    /// The same as in ``MessageSendMethod``.
    @Default<MessageSendMethod.Wait> public var wait: MessageSendMethod.Wait
    @Default<Seconds<30>> public var timeout: Double
    @Default<True> public var asksReceipts: Bool

    public init(account: String?, id: String, to: String, text: String) {
      self.account = account
      self.id = id
      self.to = to
      self.text = text
    }

    public func validate() throws(RPCError) {
      if id.isEmpty { throw .invalidParameter("id") }
      try messages.check(at: "text", count: maximumLines)
    }

    /// The id of the message of a line.
    public func id(of line: Int) -> String { "\(id).\(line)" }

    /// The equivalent parameters of ``MessageSendMethod``.
    public var messages: MessageSendMethod.Parameters {
      var text = text
      let lines = text.withUTF8 { bytes in
        bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
      }
      var parameters = MessageSendMethod.Parameters(
        account: account,
        messages: lines.enumerated().map { number, line in
          var message = OutgoingMessage(to: to, body: line)
          message.id = id(of: number)
          message.type = type
          message.subject = subject
          message.thread = thread
          return message
        })
      parameters.wait = wait
      parameters.timeout = timeout
      parameters.asksReceipts = asksReceipts
      return parameters
    }

    /// The outcome for each line's message.
    public func outcomes(_ runs: Result) -> MessageSendMethod.Result {
      var outcomes: MessageSendMethod.Result = []
      for run in runs {
        for _ in 0..<min(max(run.count, 0), maximumLines) {
          outcomes.append(.init(id: id(of: outcomes.count), to: to, state: run.state, error: run.error))
        }
      }
      return outcomes
    }
  }

  /// Consecutive lines whose messages have the same outcome.
  public struct OutcomeRun: Codable, Sendable, Equatable {
    public var count: Int
    public var state: DeliveryState
    /// Why the messages will not be delivered.
    public var error: Failure?
    public init(count: Int, state: DeliveryState, error: Failure? = nil) {
      self.count = count
      self.state = state
      self.error = error
    }
  }

  /// The runs in the order of the lines.
  public typealias Result = [OutcomeRun]

  public static func runs(of outcomes: MessageSendMethod.Result) -> Result {
    var runs: Result = []
    for outcome in outcomes {
      if let last = runs.last, last.state == outcome.state, last.error == outcome.error {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(OutcomeRun(count: 1, state: outcome.state, error: outcome.error))
      }
    }
    return runs
  }
}
