import AgentProtocol
import Glibc

/// Sends messages to the agent, many at a time and in their order.
///
/// If an agent goes away, its successor receives all unanswered messages again. A message is sent only once under its
/// id.
final class MessageSender {
  /// The maximum size of a call's lines in octets, and the maximum number of unanswered calls.
  private static let octetsEach = 65_536
  private static let callsAhead = 8

  private let deadline: Deadline
  private let isBounded: Bool
  /// The time during which agents may end one after the other before one has answered. Also the time limit of an answer
  /// for a command without a time limit of its own.
  private static let timeLimit = Timeout(seconds: 30)
  /// The time limit for asking an unresponsive agent what it has accepted.
  private static let lastQuestion = Timeout(seconds: 0.5)

  /// The number of lines of the next call. It doubles with each call, so that the first lines are sent while the agent
  /// stores those after them.
  private var linesNext = 16
  /// Unanswered calls, oldest first.
  private var calls: [MessageSendLinesMethod.Parameters] = []
  private(set) var shortfall: Shortfall
  private var accepted = AcceptedLines()
  /// The number of answered calls.
  private var answers = 0
  /// The number of messages that were sent to an agent, and the id of the first.
  private var handedOver = 0
  private var firstID: String?

  typealias Report = (MessageSendMethod.Outcome) throws -> Void

  /// - Parameter isBounded: Whether the deadline applies to everything; otherwise, only each wait for the agent is
  ///   limited.
  init(_ wait: MessageSendMethod.Wait, isBounded: Bool, until deadline: Deadline) {
    shortfall = Shortfall(wait)
    self.isBounded = isBounded
    self.deadline = deadline
  }

  /// Generates a unique, unpredictable id: the time in milliseconds, followed by a random number. With the time first,
  /// the local store keeps the ids of related messages together. The id is short, because servers need more time for
  /// long ones.
  static func makeID() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let milliseconds = UInt64(clamping: time.tv_sec) &* 1000 &+ UInt64(clamping: time.tv_nsec / 1_000_000)
    return String(milliseconds, radix: 36) + String(UInt64.random(in: 0..<1 << 46), radix: 36)
  }

  /// Sends the messages of some calls, in their order.
  ///
  /// - Throws: The failure that ended the attempts, with the messages that the agent may have accepted.
  func send(_ calls: [MessageSendMethod.Parameters], report: Report) throws {
    do {
      try deliver(calls, report)
    } catch let failure as Failure where failure.isAboutConnection {
      throw failure.adding(shortfall.unanswered(of: handedOver, id: firstID))
    } catch let failed as StartFailure {
      // The agent that ended may have accepted messages, so the reason that no other agent starts is not their reason.
      guard let unanswered = shortfall.unanswered(of: handedOver, id: firstID) else { throw failed.failure }
      throw Failure.agentUnreachable(.failure(failed.failure)).adding(unanswered)
    }
  }

  /// The failure to start an agent.
  private struct StartFailure: Error {
    let failure: Failure
  }

  private func deliver(_ calls: [MessageSendMethod.Parameters], _ report: Report) throws {
    var left = calls[...]
    var next = left.startIndex
    try withAgents { agent in
      var requests = try left[..<next].map { try send($0, to: agent) }
      while !left.isEmpty {
        while next < left.endIndex, requests.count < Self.callsAhead {
          requests.append(try send(left[next], to: agent))
          handedOver += left[next].messages.count
          firstID = firstID ?? left[next].messages.first?.id
          next += 1
        }
        let outcomes = try agent.answer(to: requests.removeFirst())
        answers += 1
        for outcome in outcomes { try add(outcome, report) }
        left.removeFirst()
      }
    }
  }

  private func send(
    _ call: MessageSendMethod.Parameters, to agent: AgentClient
  ) throws -> AgentClient.Request<MessageSendMethod> {
    var call = call
    if let timeout { call.timeout = timeout }
    return try agent.send(MessageSendMethod.self, call)
  }

  /// Sends lines as they are read.
  ///
  /// - Parameter make: Creates the calls for some lines, each with an id of its own.
  /// - Throws: ``StoppedLines`` for a failure that ends the attempts.
  func send(
    from input: inout InputLines, make: (String) -> [MessageSendLinesMethod.Parameters], report: Report
  ) throws {
    var ready: ArraySlice<MessageSendLinesMethod.Parameters> = []
    do {
      try withAgents { agent in
        do {
          try send(from: &input, ready: &ready, make: make, to: agent, report)
        } catch let failure as Failure where !failure.isEndOfAgent {
          // An agent that does not answer cannot be asked what it has accepted.
          throw StoppedLines(
            failure, accepted(asking: failure == .noAnswer ? nil : agent, isExact: false))
        }
      }
    } catch let failed as StartFailure {
      throw StoppedLines(failed.failure, accepted(asking: nil, isExact: true))
    } catch let failure as Failure {
      throw StoppedLines(failure, accepted(asking: nil, isExact: true))
    } catch let stopped as StoppedLines where stopped.failure.name == .cancelled {
      throw StoppedLines(cancelled, stopped.accepted)
    }
  }

  private func send(
    from input: inout InputLines, ready: inout ArraySlice<MessageSendLinesMethod.Parameters>,
    make: (String) -> [MessageSendLinesMethod.Parameters], to agent: AgentClient, _ report: Report
  ) throws {
    var requests = try calls.map { try send($0, to: agent) }
    while true {
      if calls.count < Self.callsAhead {
        if ready.isEmpty {
          let lines = try input.nextLines(linesNext, octets: Self.octetsEach)
          if !lines.isEmpty {
            linesNext = min(2 * linesNext, MessageSendLinesMethod.maximumLines)
            ready = make(lines.joined(separator: "\n"))[...]
          }
        }
        if let call = ready.popFirst() {
          calls.append(call)
          handedOver += call.text.split(separator: "\n").count
          requests.append(try send(call, to: agent))
          continue
        }
      }
      if input.isAtEnd || calls.count == Self.callsAhead {
        if requests.isEmpty { return }
        try finish(requests.removeFirst(), of: agent, report)
        continue
      }
      let isReady = try agent.waitForInput(until: deadline)
      if isReady.hasLine {
        if !requests.isEmpty {
          try finish(requests.removeFirst(), of: agent, report)
        } else if try agent.greet() == nil {
          // No request is open, so that readable data means the end of the agent.
          try agent.expectEnd()
        }
      }
      if isReady.hasInput { input.read() }
      if !isReady.hasInput, !isReady.hasLine {
        throw Failure.timedOut(.usage(.standardInput))
      }
    }
  }

  /// Runs `body` with one agent after the other, as long as one of them answers in time.
  ///
  /// - Throws: `StartFailure` if there is no agent, and none can be started.
  private func withAgents(_ body: (AgentClient) throws -> Void) throws {
    var end: Deadline?
    var pause: Int32 = 20
    do {
      while true {
        let (start, answersBefore) = (ContinuousClock.now, answers)
        let failure: Failure?
        do {
          // A failure of `body` is returned, so that a thrown one means that no agent could be started.
          failure =
            try AgentClient.session(start: .whenNoneRuns, until: nextDeadline) { agent -> Failure? in
              do { try body(agent) } catch let failure as Failure where !failure.isAboutConnection {
                return failure
              }
              return nil
            } ?? nil
        } catch let failure as Failure where failure.isEndOfAgent {
          // An agent that has answered or has run for long starts the time limit anew.
          let isHealthy = start.duration(to: .now) > .seconds(Self.timeLimit.seconds)
          if answers > answersBefore || isHealthy { (end, pause) = (nil, 20) }
          let limit = end ?? deadline.atMost(Self.timeLimit)
          if limit.isOver { throw failure }
          end = limit
          try Interrupt.pause(milliseconds: pause)
          pause = min(2 * pause, 1000)
          continue
        } catch let failure as Failure where failure != .noAnswer && failure.name != .cancelled {
          throw StartFailure(failure: failure)
        }
        if let failure { throw failure }
        return
      }
    } catch let failure as Failure where failure.name == .cancelled {
      throw cancelled
    }
  }

  /// The deadline of the next answer.
  private var nextDeadline: Deadline { (isBounded ? deadline : Deadline(Self.timeLimit)).ofAgent }

  private var cancelled: Failure { .cancelled(shortfall.withAgent(of: handedOver, id: firstID)) }

  /// The accepted lines, including those of unanswered calls.
  ///
  /// - Parameters:
  ///   - agent: The agent to ask, because it may be about to store the last calls. Without an agent or its answer, the
  ///     local store is read.
  ///   - isExact: Whether no agent is left that may accept more lines.
  private func accepted(asking agent: AgentClient?, isExact: Bool) -> AcceptedLines {
    var accepted = accepted
    accepted.isExact = isExact || calls.isEmpty
    guard let first = calls.first else { return accepted }
    let ids = calls.map { $0.id(of: 0) }
    var known: [String]?
    if let agent {
      Interrupt.forget()
      agent.deadline = Deadline(Self.lastQuestion)
      let question = MessageAcceptedMethod.Parameters(account: first.account, ids: ids)
      known = try? agent.answer(to: agent.send(MessageAcceptedMethod.self, question))
      accepted.isExact = known != nil
    }
    if known == nil { known = try? stored(ids, of: first.account) }
    if known == nil { accepted.isExact = false }
    let found = Set(known ?? [])
    for call in calls where found.contains(call.id(of: 0)) { accepted.add(call) }
    return accepted
  }

  private func stored(_ ids: [String], of account: String?) throws -> [String] {
    try OneTimeAgent.ask(
      MessageAcceptedMethod.self, .init(account: account, ids: ids), until: Deadline(Self.lastQuestion))
  }

  /// The seconds that the agent is to wait; nil for its own default.
  private var timeout: Double? { isBounded ? deadline.secondsLeft ?? 0 : nil }

  private func send(
    _ call: MessageSendLinesMethod.Parameters, to agent: AgentClient
  ) throws -> AgentClient.Request<MessageSendLinesMethod> {
    var call = call
    if let timeout { call.timeout = timeout }
    agent.deadline = nextDeadline
    return try agent.send(MessageSendLinesMethod.self, call)
  }

  /// Waits for the answer to the oldest call.
  private func finish(
    _ request: AgentClient.Request<MessageSendLinesMethod>, of agent: AgentClient, _ report: Report
  ) throws {
    agent.deadline = nextDeadline
    let runs = try agent.answer(to: request)
    answers += 1
    let call = calls.removeFirst()
    accepted.add(call)
    for outcome in call.outcomes(runs) { try add(outcome, report) }
  }

  private func add(_ outcome: MessageSendMethod.Outcome, _ report: Report) throws {
    shortfall.add(outcome)
    try report(outcome)
  }
}

/// The lines of standard input, read as they arrive.
struct InputLines {
  private var framer: LineFramer
  private var hasEnded = false

  init() { framer = LineFramer(limit: OutgoingMessage.maximumText) }

  /// Whether no more lines will follow.
  var isAtEnd: Bool { hasEnded && framer.pending == 0 }

  /// Returns the next complete lines without their line feeds, skipping empty lines.
  mutating func nextLines(_ count: Int, octets: Int) throws -> [String] {
    var taken: [String] = []
    var size = 0
    while taken.count < count, size < octets, let line = try next() {
      taken.append(line)
      size += line.utf8.count
    }
    return taken
  }

  private mutating func next() throws -> String? {
    do {
      guard var line = try framer.next() else { return nil }
      if line.utf8.last == 0x0D { line.unicodeScalars.removeLast() }
      if OutgoingMessage.octets(line) > OutgoingMessage.maximumText { throw Self.tooLong }
      return line
    } catch let error as LineFramer.Violation {
      switch error {
      case .tooLong: throw Self.tooLong
      case .invalidUTF8: throw Failure.invalid(.usage(.notUTF8))
      }
    }
  }

  private static let tooLong = Failure.invalid(
    .usage(.inputLineTooLong, OutgoingMessage.maximumText))

  /// Reads the available input.
  mutating func read() {
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { room in
      let count = Glibc.read(STDIN_FILENO, room.baseAddress, room.count)
      if count > 0 {
        framer.append(room[..<count])
      } else if count == 0 || errno != EINTR {
        // The last line may lack its line feed.
        if !hasEnded, framer.pending > 0 { framer.append([0x0A]) }
        hasEnded = true
      }
    }
  }

  /// Returns the whole input, without the line feed at its end.
  static func all(until deadline: Deadline) throws -> String {
    let tooLong = Failure.invalid(
      .usage(.textTooLong, OutgoingMessage.maximumText))
    var bytes: [UInt8] = []
    while true {
      try StandardInput.wait(until: deadline)
      let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { room in
        let count = Glibc.read(STDIN_FILENO, room.baseAddress, room.count)
        if count > 0 { bytes.append(contentsOf: room[..<count]) }
        return count
      }
      if bytes.count > OutgoingMessage.maximumText { throw tooLong }
      if count == 0 || (count < 0 && errno != EINTR) { break }
    }
    var text = try StandardInput.text(bytes)
    if text.utf8.last == 0x0A { text.unicodeScalars.removeLast() }
    if OutgoingMessage.octets(text) > OutgoingMessage.maximumText { throw tooLong }
    return text
  }
}
