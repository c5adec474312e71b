import AgentProtocol

/// What has become of the messages of a command, and what is missing of what it waits for.
struct Shortfall: Sendable {
  private let wait: MessageSendMethod.Wait
  /// Messages that the agent keeps, and those that the server has and nobody has confirmed.
  private var queued = 0
  private var unconfirmed = 0
  /// The server has them, or their recipients.
  private(set) var arrived = 0
  private(set) var refused = 0
  private var error: Failure?

  init(_ wait: MessageSendMethod.Wait) { self.wait = wait }

  mutating func add(_ outcome: MessageSendMethod.Outcome) {
    if let error = outcome.error {
      self.error = self.error ?? error
      refused += 1
    } else if outcome.state == .queued {
      queued += 1
    } else {
      arrived += 1
      if wait == .delivered, outcome.state == .sent { unconfirmed += 1 }
    }
  }

  /// Nil where nothing is missing. A refusal is worse than what is only late.
  var failure: Failure? {
    if let error { return error }
    return queued + unconfirmed > 0 ? .unconfirmed(queued: queued, sent: unconfirmed) : nil
  }

  /// What a cancelled command has done already.
  ///
  /// - Parameters:
  ///   - count: how many messages were handed to the agent.
  ///   - id: that of the only one.
  func withAgent(of count: Int, id: String?) -> FailureDetail? {
    if count == 0 { return nil }
    if count == 1, let id, arrived + refused == 0 {
      return .usage(.handedOver, id)
    }
    return .usage(.handedOverOf, arrived, refused, count - arrived - refused)
  }

  /// What an agent may have that was given up; nil where it has answered everything.
  ///
  /// - Parameters:
  ///   - count: how many messages were handed to it.
  ///   - id: that of the first.
  func unanswered(of count: Int, id: String?) -> FailureDetail? {
    let open = count - arrived - refused - queued
    guard open > 0 else { return nil }
    if count == 1, let id { return .usage(.mayBeAccepted, id) }
    return .usage(.mayBeAcceptedOf, open)
  }

  /// What a command has done already that has asked no agent.
  func directly(of count: Int) -> FailureDetail { .usage(.confirmedOf, arrived, count) }
}

extension Failure {
  /// The same with something more that is to be known.
  func adding(_ more: FailureDetail?) -> Failure {
    guard let more else { return self }
    return Failure(
      name, stage: stage, detail: detail.map { .form(.and, $0, more) } ?? more, condition: condition,
      text: text)
  }

  /// What was waited for has not come: exit status 87.
  ///
  /// - Parameters:
  ///   - queued: messages that the agent keeps.
  ///   - sent: messages that the server has, and no client of the recipient has confirmed.
  static func unconfirmed(queued: Int, sent: Int = 0) -> Failure {
    let waiting: FailureDetail? = queued > 0 ? .usage(.stillQueued, queued) : nil
    let unconfirmed: FailureDetail? = sent > 0 ? .usage(.unconfirmed, sent) : nil
    let failure = Failure(.deliveryUnconfirmed, stage: .request, detail: waiting ?? unconfirmed)
    return waiting == nil ? failure : failure.adding(unconfirmed)
  }
}
