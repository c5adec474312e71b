import AgentProtocol
import Terminal

/// The lines of standard input that an agent has accepted, by recipient. They are always the first ones.
struct AcceptedLines: Encodable {
  /// The accepted lines for one recipient.
  struct Tally: Encodable {
    let to: String
    /// The number of lines that are not empty.
    var lines = 0
    /// The id of the last line's message.
    var lastID: String?
  }

  private(set) var tallies: [Tally] = []
  /// False if the agent may still accept further lines that it was sent.
  var isExact = true

  /// Adds the lines of a call, all of which were accepted.
  mutating func add(_ call: MessageSendLinesMethod.Parameters) {
    let count = call.messages.messages.count
    var index = tallies.firstIndex { $0.to == call.to }
    if index == nil {
      index = tallies.count
      tallies.append(Tally(to: call.to))
    }
    guard let index else { return }
    tallies[index].lines += count
    tallies[index].lastID = call.id(of: count - 1)
  }

  /// One line of text for each recipient.
  var text: String {
    if tallies.isEmpty {
      return isExact
        ? inLanguage("no line was accepted", "没有一行被接受")
        : inLanguage("no line is known to have been accepted", "不确定是否有任何一行被接受")
    }
    return tallies.map { tally in
      let (to, id) = ("\(peer: tally.to)", tally.lastID ?? "")
      return isExact
        ? inLanguage(
          "accepted lines to \(to): \(tally.lines); the last one has the ID \(id)",
          "发给 \(to) 已被接受的行数：\(tally.lines)，最后一行的 id 为 \(id)")
        : inLanguage(
          "accepted lines to \(to): at least \(tally.lines); the last one has the ID \(id)",
          "发给 \(to) 已被接受的行数：至少 \(tally.lines)，最后一行的 id 为 \(id)")
    }.joined(separator: "\n")
  }
}

/// The failure of `send --lines`, with the lines that need not be sent again.
struct StoppedLines: Error, Encodable {
  let failure: Failure
  let accepted: AcceptedLines

  init(_ failure: Failure, _ accepted: AcceptedLines) {
    self.failure = failure
    self.accepted = accepted
  }

  private enum Key: CodingKey { case error, accepted, exact }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(CommandEnd.object(failure), forKey: .error)
    try fields.encode(accepted.tallies, forKey: .accepted)
    try fields.encode(accepted.isExact, forKey: .exact)
  }
}

extension Failure {
  /// Whether an agent went away, or ended as soon as it was started, so that a new agent may answer.
  var isEndOfAgent: Bool { self == .agentEnded || self == .agentEndedAtOnce }

  /// Whether the agent has ended or does not answer, so that the fate of a request is unknown.
  var isAboutConnection: Bool { self == .noAnswer || isEndOfAgent }

  static var agentEndedAtOnce: Failure {
    agentUnreachable(.agent(.endedAtOnce))
  }
}
