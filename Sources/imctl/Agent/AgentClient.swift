import AgentProtocol
import Glibc
import Synchronization
import Terminal

/// A connection to the agent: JSON-RPC 2.0, one object on each line.
///
/// The first request of every connection is `agent.status`. It is sent in one write with the first real request, or
/// earlier (``connectEarly()``), and its answer is read before that request's. Only a request that must not be carried
/// out twice waits for the answer, in case the agent has another version and has to be replaced.
final class AgentClient {
  /// Whether a command may start an agent.
  enum Start {
    case never, whenNoneRuns
    /// If no agent is running, a one-time agent answers.
    case once
  }

  /// A request that was sent and whose answer can be awaited.
  struct Request<Method: AgentMethod> {
    let id: Int64
  }

  /// Why a connection is unusable although the request is valid.
  private enum UnusableConnection: Error {
    /// The agent was ending when the command connected.
    case endedAtOnce
    case otherVersion(String, isService: Bool)
    /// The agent has reached its maximum number of connections.
    case full(Failure)
  }

  var deadline: Deadline
  private var socket: AgentSocket
  private var lastID = AgentClient.greetingID
  private var unsent: String
  /// Answers that arrived before they were awaited.
  private var early: [RPCID: RPCReply] = [:]
  /// The first request of the connection, until its answer has been read.
  private var greeting: Request<AgentStatusMethod>?
  private let start: Start
  /// Whether this command has started the agent.
  private let hasLaunched: Bool
  /// Whether a request for a change is unanswered.
  private var hasOpenChange = false
  /// The remark for a cancelled wait: what the agent may have done nevertheless.
  private var mayBeDone = FailureDetail.usage(.mayBeDone)
  /// The process of a one-time agent.
  private let process: pid_t?
  /// Receives the values that a request asks for.
  var onItem: (RPCReply) throws -> Void = { _ in }
  /// Receives the notices of a one-time agent.
  var onNotice: (AgentNotice) throws -> Void = { _ in }

  /// - Parameter isEarly: Whether ``connectEarly()`` has sent the first request.
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

  /// Creates the client of a one-time agent that this command has started.
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
    RPC.request(AgentStatusMethod.self, id: .number(greetingID), EmptyObject())
  }

  /// The connection of ``connectEarly()`` for the first ``session(start:until:_:)``.
  private static let connectedEarly = Mutex<AgentSocket?>(nil)

  /// Connects to a running agent, so that it describes itself while the arguments are parsed.
  static func connectEarly() {
    guard let paths = try? AgentPaths.current() else { return }
    var socket = try? AgentSocket.connect(to: paths.socket, until: .past)
    guard socket?.write(greetingLine, until: .past) == .all else { return }
    connectedEarly.withLock { $0 = socket.take() }
  }

  /// Sends one request to the running agent, or to a one-time agent if none runs.
  static func answer<Method: AgentMethod>(
    to method: Method.Type, _ parameters: Method.Parameters, until deadline: Deadline
  ) throws -> Method.Result {
    let answer = try session(start: .once, until: deadline) { try $0.answer(to: $0.send(method, parameters)) }
    guard let answer else { throw Failure.noAnswer }
    return answer
  }

  /// Sends one request. Returns nil if no agent is running and none may be started.
  static func ask<Method: AgentMethod>(
    _ method: Method.Type, _ parameters: Method.Parameters, start: Start, timeout: Timeout
  ) throws -> Method.Result? {
    try session(start: start, timeout: timeout) { try $0.answer(to: $0.send(method, parameters)) }
  }

  /// The same as ``session(start:until:_:)``.
  @discardableResult
  static func session<Answer>(
    start: Start, timeout: Timeout, _ body: (AgentClient) throws -> Answer
  ) throws -> Answer? {
    try session(start: start, until: Deadline(timeout), body)
  }

  /// Runs `body` with a connection. Returns nil if no agent is running and none may be started.
  ///
  /// If agents may be started, an agent that is ending or has another version than this command is replaced, and `body`
  /// runs again. It also runs again, until the deadline, while the agent has too many connections.
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
      } catch UnusableConnection.full(let failure) {
        if deadline.isOver { throw failure }
        attempts = 3
        crowded = failure
        // A random pause keeps waiting commands from all trying at once.
        try Interrupt.pause(milliseconds: .random(in: pause / 2...pause))
        pause = min(pause * 2, 200)
      } catch let failure as Failure where failure == .noAnswer {
        throw crowded ?? failure
      } catch UnusableConnection.endedAtOnce where isEarly {
        continue
      } catch is UnusableConnection where start != .whenNoneRuns {
        return try withoutAgent(start, deadline, body)
      } catch UnusableConnection.otherVersion(let version, isService: false) where hasLaunched {
        // This command has started the agent, and starting it again would not change its version.
        try? agent.stop(until: deadline.atMost(.ofStop))
        throw Failure.versions(command: Version.current, agent: version)
      } catch UnusableConnection.otherVersion(_, let isService) where attempts > 0 {
        try AgentStart.check()
        if isService, !isOwn, UserManager.isInstalled, UserManager.isRunning,
          (try? UserManager.systemctl("restart", ServiceUnit.name, until: deadline)) != nil
        {
          // If the restarted service still has another version, its unit starts another program.
          isOwn = true
          continue
        }
        try agent.stop(until: deadline.atMost(.ofStop))
        isOwn = true
      } catch UnusableConnection.endedAtOnce where attempts > 0 {
        continue
      } catch is UnusableConnection {
        throw Failure.agentEnded
      }
    }
  }

  /// Handles a command that starts no persistent agent: returns nil, or uses a one-time agent.
  private static func withoutAgent<Answer>(
    _ start: Start, _ deadline: Deadline, _ body: (AgentClient) throws -> Answer
  ) throws -> Answer? {
    start == .once ? try body(OneTimeAgent.client(until: deadline)) : nil
  }

  /// Sends a request, together with unsent earlier lines.
  func send<Method: AgentMethod>(_ method: Method.Type, _ parameters: Method.Parameters) throws -> Request<
    Method
  > {
    if start == .whenNoneRuns || process != nil, !Method.isIdempotent { try greet() }
    let request = queue(method, parameters)
    hasOpenChange = !Method.mayBeAbandoned
    mayBeDone = process == nil ? .usage(.mayBeDone) : .usage(.serverMayBeDone)
    if hasOpenChange { Interrupt.install() }
    try flush()
    return request
  }

  /// Waits for the answer to `request`. Events that arrive before it go to `onEvent`, except for events that this
  /// version does not know.
  func answer<Method: AgentMethod>(
    to request: Request<Method>, onEvent: (Event) throws -> Void = { _ in }
  ) throws -> Method.Result {
    try answer(to: request) { reply in if let event = try? reply.event() { try onEvent(event) } }
  }

  /// Waits for the answer to `request`. `event` notifications that arrive before it go to `onEventReply`.
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
    guard let answer else {
      throw process == nil ? Failure.noAnswer : OneTimeAgent.timeoutFailure(of: Method.self)
    }
    hasOpenChange = false
    do {
      return try answer.result(of: Method.self)
    } catch {
      throw error.failure
    }
  }

  /// The agent's description of itself, which answers the first request of this connection. Nil if it was read already.
  @discardableResult
  func greet() throws -> AgentStatusMethod.Result? {
    guard let greeting else { return nil }
    try flush()
    let agent = try answer(to: greeting)
    self.greeting = nil
    if start == .whenNoneRuns && agent.version != Version.current {
      throw UnusableConnection.otherVersion(agent.version, isService: agent.service == true)
    }
    if process != nil, agent.version != Version.current {
      throw Failure.versions(command: Version.current, agent: agent.version)
    }
    if hasLaunched, let store = agent.damagedStore { Imctl.note(Self.remark(onDamaged: store)) }
    return agent
  }

  /// The remark for a user whose store was damaged.
  static func remark(onDamaged path: String) -> String {
    inLanguage(
      "the local store was damaged and has been replaced; the old one is now \(peer: path)",
      "本地数据库已损坏，现已重新创建；原文件移至 \(peer: path)")
  }

  /// Waits for an `event` notification. Returns nil at the deadline.
  func nextEventReply() throws -> RPCReply? {
    while let reply = try nextReply() {
      if reply.method == RPC.eventMethod { return reply }
    }
    return nil
  }

  /// Waits until standard input is readable or the agent has sent data. At the deadline, both flags are false.
  func waitForInput(until deadline: Deadline) throws -> AgentSocket.Readiness {
    try socket.waitForInput(until: deadline)
  }

  /// Waits for the connection's end when no request is open.
  func expectEnd() throws { _ = try nextReply() }

  /// Waits until the agent has ended or the descriptor is readable, and returns whether the latter came first. Events
  /// are discarded.
  func waitForEnd(or descriptor: Int32) -> Bool { socket.waitForEnd(or: descriptor) }

  /// Asks the agent to end, and waits for its end.
  func stop(until end: Deadline) throws {
    deadline = end
    defer { AgentStart.waitForEnd(until: end) }
    do {
      _ = try send(AgentStopMethod.self, EmptyObject())
      while try nextReply() != nil {}
    } catch UnusableConnection.endedAtOnce {
      return
    } catch let failure as Failure where failure == .agentEnded {
      return
    }
    throw Failure.timedOut(.usage(.agentEnd))
  }

  /// Ends the connection and briefly waits until the agent has ended whatever depends on it, such as a held presence.
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
      // The agent may have sent the reason.
      while try nextReply() != nil {}
      throw Failure.noAnswer
    case .timeout: throw Failure.noAnswer
    case .interrupted: throw Failure.cancelled(hasOpenChange ? mayBeDone : nil)
    }
  }

  /// Returns nil at the deadline.
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
      throw greeting == nil ? Failure.agentEnded : UnusableConnection.endedAtOnce
    }
  }

  private func handleNotice(_ reply: RPCReply) throws {
    guard let notice = try? reply.notice() else { return }
    if let repair = notice.repair { Imctl.note("\(peer: repair)") }
    if let percent = notice.upgrade { UpgradeNote.tell(percent) }
    try onNotice(notice)
  }

  /// Throws the error with the id null, with which the agent refuses the connection.
  private func refuse(with reply: RPCReply) throws {
    do {
      _ = try reply.result(of: AgentStopMethod.self)
    } catch {
      throw error.failure.isTooManyClients ? UnusableConnection.full(error.failure) : error.failure
    }
  }
}

extension Failure {
  static var noAnswer: Failure {
    Failure(.connectTimeout, stage: .request, detail: .agent(.noAnswer))
  }
}
