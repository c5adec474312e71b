import AgentProtocol

/// Counts the outcomes of a command's messages, and what is missing of the state for which it waits.
struct Shortfall: Sendable {
  private let wait: MessageSendMethod.Wait
  /// The numbers of messages that the agent still has, and that the server has but nobody has confirmed.
  private var queued = 0
  private var unconfirmed = 0
  /// The number of messages that the server or their recipients have.
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

  /// Nil if nothing is missing. A refusal takes precedence over a delay.
  var failure: Failure? {
    if let error { return error }
    return queued + unconfirmed > 0 ? .unconfirmed(queued: queued, sent: unconfirmed) : nil
  }

  /// The messages that a cancelled command has already sent.
  ///
  /// - Parameters:
  ///   - count: The number of messages that were sent to the agent.
  ///   - id: The id, if there is only one message.
  func withAgent(of count: Int, id: String?) -> FailureDetail? {
    if count == 0 { return nil }
    if count == 1, let id, arrived + refused == 0 {
      return .usage(.handedOver, id)
    }
    return .usage(.handedOverOf, arrived, refused, count - arrived - refused)
  }

  /// The messages that an unresponsive agent may have accepted; nil if it has answered everything.
  ///
  /// - Parameters:
  ///   - count: The number of messages that were sent to it.
  ///   - id: The id of the first message.
  func unanswered(of count: Int, id: String?) -> FailureDetail? {
    let open = count - arrived - refused - queued
    guard open > 0 else { return nil }
    if count == 1, let id { return .usage(.mayBeAccepted, id) }
    return .usage(.mayBeAcceptedOf, open)
  }

  /// The messages that a command without an agent has already sent.
  func directly(of count: Int) -> FailureDetail { .usage(.confirmedOf, arrived, count) }
}

extension Failure {
  /// The failure with an additional detail.
  func adding(_ more: FailureDetail?) -> Failure {
    guard let more else { return self }
    return Failure(
      name, stage: stage, detail: detail.map { .form(.and, $0, more) } ?? more, condition: condition,
      text: text)
  }

  /// The failure for a missing confirmation: exit status 87.
  ///
  /// - Parameters:
  ///   - queued: The number of messages that the agent still has.
  ///   - sent: The number of messages that the server has, but no client of the recipient has confirmed.
  static func unconfirmed(queued: Int, sent: Int = 0) -> Failure {
    let waiting: FailureDetail? = queued > 0 ? .usage(.stillQueued, queued) : nil
    let unconfirmed: FailureDetail? = sent > 0 ? .usage(.unconfirmed, sent) : nil
    let failure = Failure(.deliveryUnconfirmed, stage: .request, detail: waiting ?? unconfirmed)
    return waiting == nil ? failure : failure.adding(unconfirmed)
  }
}
