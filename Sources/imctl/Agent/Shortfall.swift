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
  func withAgent(of count: Int, id: String?) -> String? {
    if count == 0 { return nil }
    if count == 1, let id, arrived + refused == 0 {
      return inLanguage(
        "the agent has the message, and sends it unless it has done so; `imctl outbox cancel \(id)` takes it back while it waits",
        "消息已交给代理进程，如尚未发送则将发送；仍在等待时可用 `imctl outbox cancel \(id)` 撤回")
    }
    let open = count - arrived - refused
    return inLanguage(
      "messages that the server has: \(arrived); refused: \(refused); handed to the agent, which sends them unless it has done so: \(open); `imctl outbox list` shows what waits",
      "服务器已收到的消息：\(arrived)；被拒绝：\(refused)；已交给代理进程并将发送：\(open)；`imctl outbox list` 可查看等待中的消息")
  }

  /// What an agent may have that was given up; nil where it has answered everything.
  ///
  /// - Parameters:
  ///   - count: how many messages were handed to it.
  ///   - id: that of the first.
  func unanswered(of count: Int, id: String?) -> String? {
    let open = count - arrived - refused - queued
    guard open > 0 else { return nil }
    if count == 1, let id {
      return inLanguage(
        "it may have the message, and sends it then: a second try with `--id \(id)` does not send it twice",
        "它可能已收到该消息并将发送：用 `--id \(id)` 再试一次不会重复发送")
    }
    return inLanguage(
      "messages that it may have, and sends then: \(open); `imctl outbox list` and `imctl history` show those that it has",
      "它可能已收到并将发送的消息：\(open)；`imctl outbox list` 和 `imctl history` 可查看已收到的消息")
  }

  /// What a command has done already that has asked no agent.
  func directly(of count: Int) -> String {
    inLanguage(
      "messages that the server has confirmed: \(arrived) of \(count); the others may have been sent, and are not queued",
      "服务器已确认的消息：\(arrived)/\(count)；其余的可能已经发送，且不在队列中")
  }
}

extension Failure {
  /// The same with something more that is to be known.
  func adding(_ more: String?) -> Failure {
    let parts = [detail, more].compactMap(\.self)
    return Failure(
      name, stage: stage, detail: parts.joined(separator: "; "), condition: condition, text: text)
  }

  /// What was waited for has not come: exit status 87.
  ///
  /// - Parameters:
  ///   - queued: messages that the agent keeps.
  ///   - sent: messages that the server has, and no client of the recipient has confirmed.
  static func unconfirmed(queued: Int, sent: Int = 0) -> Failure {
    var parts: [String] = []
    if queued > 0 {
      parts.append(
        inLanguage(
          "still queued, sent as soon as the account is online: \(queued)", "仍在队列中，账号上线后发送：\(queued)"))
    }
    if sent > 0 {
      parts.append(
        inLanguage(
          "the server has it, no client of the recipient has confirmed it: \(sent)",
          "服务器已收到，但收件人的客户端尚未确认：\(sent)"))
    }
    return Failure(
      .deliveryUnconfirmed, stage: .request, detail: parts.joined(separator: inLanguage("; ", "；")))
  }
}
