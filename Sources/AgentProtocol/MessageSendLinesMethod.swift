/// Sends lines to one recipient, each as a message: what ``MessageSendMethod`` does, with a fraction of what there is to
/// write and to read.
public enum MessageSendLinesMethod: SubmissionMethod {
  public static let name = "message.sendLines"
  // Under its id a message is sent once.
  public static let isIdempotent = true

  /// Lines of one call that are not empty.
  public static let maximumLines = 512

  public struct Parameters: SubmissionParameters, Equatable {
    public var account: String?
    /// The message of a line has it, a dot, and the number of the line in this call, from 0: unique to the account.
    public var id: String
    public var to: String
    /// As those of ``OutgoingMessage``, of every message.
    public var type: String?
    public var subject: String?
    public var thread: String?
    /// Lines with line feeds between them, at most ``maximumLines``; empty ones are left out, and have no number.
    public var text: String
    /// As those of ``MessageSendMethod``.
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

    /// The id of a line's message.
    public func id(of line: Int) -> String { "\(id).\(line)" }

    /// The same as messages.
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

    /// What became of the message of each line.
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

  /// Lines that follow each other, and of whose messages the same has become.
  public struct Run: Codable, Sendable, Equatable {
    public var count: Int
    public var state: DeliveryState
    /// Why they will not come any further.
    public var error: Failure?
    public init(count: Int, state: DeliveryState, error: Failure? = nil) {
      self.count = count
      self.state = state
      self.error = error
    }
  }

  /// In the order of the lines.
  public typealias Result = [Run]

  public static func runs(of outcomes: MessageSendMethod.Result) -> Result {
    var runs: Result = []
    for outcome in outcomes {
      if let last = runs.last, last.state == outcome.state, last.error == outcome.error {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(Run(count: 1, state: outcome.state, error: outcome.error))
      }
    }
    return runs
  }
}
