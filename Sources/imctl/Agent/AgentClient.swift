import AgentProtocol
import Glibc
import Synchronization
import Terminal

/// A connection to the agent: JSON-RPC 2.0, one object a line.
///
/// `agent.status` is the first request of every connection. It is not waited for: it leaves in one write with
/// the first real request, or before that (``connectEarly()``), and its answer is read before that one's. Only
/// where an agent of another version would be replaced, a request that must not be carried out twice waits for it.
final class AgentClient {
  /// Whether a command may start an agent.
  enum Start {
    case never, whenNoneRuns
    /// Where none runs, a one-time agent answers.
    case once
  }

  /// A request that was sent, to wait for its answer.
  struct Request<Method: AgentMethod> {
    let id: Int64
  }

  /// Why a connection is of no use, though nothing is wrong with the request.
  private enum Useless: Error {
    /// The agent was just ending.
    case endedAtOnce
    case otherVersion(String, isService: Bool)
    /// The agent has as many connections as it may have.
    case full(Failure)
  }

  var deadline: Deadline
  private var socket: AgentSocket
  private var lastID = AgentClient.greetingID
  private var unsent: String
  /// Answers to requests that are to be waited for later.
  private var early: [RPCID: RPCReply] = [:]
  /// Its answer was not read yet.
  private var greeting: Request<AgentStatusMethod>?
  private let start: Start
  /// This command has started the agent.
  private let hasLaunched: Bool
  /// It was asked for a change, and has not answered.
  private var hasOpenChange = false
  /// What may have happened where the wait for the answer is given up.
  private var mayBeDone = FailureDetail.usage(.mayBeDone)
  /// The one-time agent at the other end.
  private let process: pid_t?
  /// Is given the values that a request asks for.
  var onItem: (RPCReply) throws -> Void = { _ in }
  /// Is given what an agent tells beside an answer.
  var onNotice: (AgentNotice) throws -> Void = { _ in }

  /// - Parameter isEarly: its first request was sent by ``connectEarly()``.
  private init(
    _ socket: consuming AgentSocket, start: Start, hasLaunched: Bool, isEarly: Bool, deadline: Deadline
  ) {
    self.socket = socket
    self.start = start
    self.hasLaunched = hasLaunched
    self.deadline = deadline
    process = nil
    greeting = Request(id: Self.greetingID)
    unsent = isEarly ? "" : Self.greetingLine
  }

  /// The client of an agent that this command has started for itself.
  init(_ socket: consuming AgentSocket, of process: pid_t, until deadline: Deadline) {
    self.socket = socket
    self.process = process
    self.deadline = deadline
    start = .once
    hasLaunched = false
    greeting = Request(id: Self.greetingID)
    unsent = Self.greetingLine
  }

  private static let greetingID: Int64 = 1
  private static var greetingLine: String {
    RPC.request(AgentStatusMethod.self, id: .number(greetingID), Nothing())
  }

  /// What ``connectEarly()`` has connected, for the first ``session(start:until:_:)``.
  private static let connectedEarly = Mutex<AgentSocket?>(nil)

  /// Connects where an agent runs, which says who it is while the arguments are still being parsed.
  static func connectEarly() {
    guard let paths = try? AgentPaths.current() else { return }
    var socket = try? AgentSocket.connect(to: paths.socket, until: .past)
    guard socket?.write(greetingLine, until: .past) == .all else { return }
    connectedEarly.withLock { $0 = socket.take() }
  }

  /// One call of an agent that runs, or else of a one-time agent.
  static func answer<Method: AgentMethod>(
    to method: Method.Type, _ parameters: Method.Parameters, until deadline: Deadline
  ) throws -> Method.Result {
    let answer = try session(start: .once, until: deadline) { try $0.answer(to: $0.send(method, parameters)) }
    guard let answer else { throw Failure.noAnswer }
    return answer
  }

  /// One call. Nil when no agent runs and none is to be started.
  static func ask<Method: AgentMethod>(
    _ method: Method.Type, _ parameters: Method.Parameters, start: Start, timeout: Timeout
  ) throws -> Method.Result? {
    try session(start: start, timeout: timeout) { try $0.answer(to: $0.send(method, parameters)) }
  }

  /// As ``session(start:until:_:)``.
  @discardableResult
  static func session<Answer>(
    start: Start, timeout: Timeout, _ body: (AgentClient) throws -> Answer
  ) throws -> Answer? {
    try session(start: start, until: Deadline(timeout), body)
  }

  /// Runs `body` over a connection; nil when no agent runs and none is to be started.
  ///
  /// Where agents may be started, one that ends just now or is of another version than this command makes way for
  /// a new one, and `body` runs again. So it does where the agent has too many connections, until the deadline.
  @discardableResult
  static func session<Answer>(
    start: Start, until deadline: Deadline, _ body: (AgentClient) throws -> Answer
  ) throws -> Answer? {
    var attempts = 3
    var isOwn = false
    var hasLaunched = false
    var pause: Int32 = 5
    var crowded: Failure?
    while true {
      var connected = connectedEarly.withLock { $0.take() }
      let isEarly = connected != nil
      guard
        let socket = try connected.take()
          ?? AgentSocket.connect(to: AgentPaths.current().socket, until: deadline)
      else {
        if start != .whenNoneRuns {
          AgentStart.remarkOnCrash()
          return try withoutAgent(start, deadline, body)
        }
        try AgentLauncher.launch(until: deadline, isOwn: isOwn)
        hasLaunched = true
        continue
      }
      if !isEarly { attempts -= 1 }
      let agent = AgentClient(
        socket, start: start, hasLaunched: hasLaunched, isEarly: isEarly, deadline: deadline)
      do {
        return try body(agent)
      } catch Useless.full(let failure) {
        if deadline.isOver { throw failure }
        attempts = 3
        crowded = failure
        // Those who wait do not all come back together.
        try Interrupt.pause(milliseconds: .random(in: pause / 2...pause))
        pause = min(pause * 2, 200)
      } catch let failure as Failure where failure == .noAnswer {
        throw crowded ?? failure
      } catch Useless.endedAtOnce where isEarly {
        continue
      } catch is Useless where start != .whenNoneRuns {
        return try withoutAgent(start, deadline, body)
      } catch Useless.otherVersion(let version, isService: false) where hasLaunched {
        // It came with this command, and the next one would be no other.
        try? agent.stop(until: deadline.atMost(.ofStop))
        throw Failure.versions(command: Version.current, agent: version)
      } catch Useless.otherVersion(_, let isService) where attempts > 0 {
        try AgentStart.check()
        if isService, !isOwn, UserManager.isInstalled, UserManager.isRunning,
          (try? UserManager.systemctl("restart", ServiceUnit.name, until: deadline)) != nil
        {
          // Where that is of another version, too, the unit starts another program.
          isOwn = true
          continue
        }
        try agent.stop(until: deadline.atMost(.ofStop))
        isOwn = true
      } catch Useless.endedAtOnce where attempts > 0 {
        continue
      } catch is Useless {
        throw Failure.agentEnded
      }
    }
  }

  /// What a command does that starts no agent for others: nothing, or it asks a one-time agent.
  private static func withoutAgent<Answer>(
    _ start: Start, _ deadline: Deadline, _ body: (AgentClient) throws -> Answer
  ) throws -> Answer? {
    start == .once ? try body(OneTimeAgent.client(until: deadline)) : nil
  }

  /// Sends a request, with what was not sent before it.
  func send<Method: AgentMethod>(_ method: Method.Type, _ parameters: Method.Parameters) throws -> Request<
    Method
  > {
    if start == .whenNoneRuns || process != nil, !Method.isIdempotent { try greet() }
    let request = queue(method, parameters)
    hasOpenChange = !Method.isQuestion
    mayBeDone = process == nil ? .usage(.mayBeDone) : .usage(.serverMayBeDone)
    if hasOpenChange { Interrupt.install() }
    try flush()
    return request
  }

  /// Waits for the answer to `request`; events that arrive before it go to `onEvent`, but for those that this version
  /// does not know.
  func answer<Method: AgentMethod>(
    to request: Request<Method>, onEvent: (Event) throws -> Void = { _ in }
  ) throws -> Method.Result {
    try answer(to: request) { reply in if let event = try? reply.event() { try onEvent(event) } }
  }

  /// Waits for the answer to `request`; the notifications `event` that arrive before it go to `onEventReply`.
  func answer<Method: AgentMethod>(
    to request: Request<Method>, onEventReply: (RPCReply) throws -> Void
  ) throws -> Method.Result {
    if let greeting, greeting.id != request.id { _ = try self.greet() }
    var answer = early.removeValue(forKey: .number(request.id))
    while answer == nil, let reply = try nextReply() {
      if reply.method == RPC.eventMethod {
        try onEventReply(reply)
      } else if reply.method == RPC.itemMethod {
        try onItem(reply)
      } else if reply.method == RPC.noticeMethod {
        try handleNotice(reply)
      } else if reply.id == .number(request.id) {
        answer = reply
      } else if let id = reply.id {
        early[id] = reply
      }
    }
    guard let answer else { throw process == nil ? Failure.noAnswer : OneTimeAgent.late(Method.self) }
    hasOpenChange = false
    do {
      return try answer.result(of: Method.self)
    } catch {
      throw error.failure
    }
  }

  /// Who the agent is: the answer to the first request of this connection. Nil when it was read already.
  @discardableResult
  func greet() throws -> AgentStatusMethod.Result? {
    guard let greeting else { return nil }
    try flush()
    let agent = try answer(to: greeting)
    self.greeting = nil
    if start == .whenNoneRuns && agent.version != Version.current {
      throw Useless.otherVersion(agent.version, isService: agent.service == true)
    }
    if process != nil, agent.version != Version.current {
      throw Failure.versions(command: Version.current, agent: agent.version)
    }
    if hasLaunched, let store = agent.damagedStore { Imctl.note(Self.remark(onDamaged: store)) }
    return agent
  }

  /// What the user is to know whose store was damaged.
  static func remark(onDamaged path: String) -> String {
    inLanguage(
      "the local store was damaged and begins afresh; the old one is now \(peer: path)",
      "本地数据库已损坏，现已重新创建；原文件移至 \(peer: path)")
  }

  /// Waits for a notification `event`. Nil at the deadline.
  func nextEventReply() throws -> RPCReply? {
    while let reply = try nextReply() {
      if reply.method == RPC.eventMethod { return reply }
    }
    return nil
  }

  /// Waits until standard input can be read, or the agent has said something. Neither at the deadline.
  func waitForInput(until deadline: Deadline) throws -> AgentSocket.Readiness {
    try socket.waitForInput(until: deadline)
  }

  /// Reads on where no answer is waited for: only the end of the agent can come.
  func expectEnd() throws { _ = try nextReply() }

  /// Waits until the agent has ended, or the descriptor can be read; whether that came first. Nothing is told of events.
  func waitForEnd(or descriptor: Int32) -> Bool { socket.waitForEnd(or: descriptor) }

  /// Asks the agent to end, and waits until it did.
  func stop(until end: Deadline) throws {
    deadline = end
    defer { AgentStart.waitForEnd(until: end) }
    do {
      _ = try send(AgentStopMethod.self, Nothing())
      while try nextReply() != nil {}
    } catch Useless.endedAtOnce {
      return
    } catch let failure as Failure where failure == .agentEnded {
      return
    }
    throw Failure.timedOut(.usage(.agentEnd))
  }

  /// Ends the connection. What the agent has kept for as long as it was there has ended then; it is not waited for long.
  func end(within timeout: Timeout = Timeout(seconds: 1)) { socket.end(until: Deadline(timeout)) }

  private func queue<Method: AgentMethod>(
    _ method: Method.Type, _ parameters: Method.Parameters
  ) -> Request<Method> {
    lastID += 1
    unsent += RPC.request(method, id: .number(lastID), parameters)
    return Request(id: lastID)
  }

  private func flush() throws {
    let lines = unsent
    unsent = ""
    switch socket.write(lines, until: deadline) {
    case .all: return
    case .end:
      // It may have said why.
      while try nextReply() != nil {}
      throw Failure.noAnswer
    case .timeout: throw Failure.noAnswer
    case .interrupted: throw Failure.cancelled(hasOpenChange ? mayBeDone : nil)
    }
  }

  /// Nil at the deadline.
  private func nextReply() throws -> RPCReply? {
    switch try socket.line(until: greeting == nil ? deadline.ofAnswer : deadline) {
    case .line(let line):
      guard let reply = try? RPCReply(line: line) else { throw Failure.noAgentSpeaks }
      if reply.id == .null { try refuse(with: reply) }
      return reply
    case .timeout: return nil
    case .interrupted: throw Failure.cancelled(hasOpenChange ? mayBeDone : nil)
    case .end:
      if let process { throw OneTimeAgent.failure(of: process) }
      throw greeting == nil ? Failure.agentEnded : Useless.endedAtOnce
    }
  }

  private func handleNotice(_ reply: RPCReply) throws {
    guard let notice = try? reply.notice() else { return }
    if let repair = notice.repair { Imctl.note("\(peer: repair)") }
    if let percent = notice.upgrade { UpgradeNote.tell(percent) }
    try onNotice(notice)
  }

  /// An error that answers no request: the agent does not want this connection.
  private func refuse(with reply: RPCReply) throws {
    do {
      _ = try reply.result(of: AgentStopMethod.self)
    } catch {
      throw error.failure.isTooManyClients ? Useless.full(error.failure) : error.failure
    }
  }
}

extension Failure {
  static var noAnswer: Failure {
    Failure(.connectTimeout, stage: .request, detail: .agent(.noAnswer))
  }
}
