import AgentProtocol
import Glibc
import Synchronization
import Terminal

/// An agent that this command has started for itself on a socket pair. It answers requests that need no session, and
/// ends with this process. All requests of the command use the same one-time agent.
enum OneTimeAgent {
  /// Unchecked, because an `AgentClient` is not Sendable: only the command's own thread makes the client and uses it. The
  /// other thread that may end the process (``Deadline/endProcess(waitingFor:json:)``) does so for commands that ask no
  /// agent.
  private struct Shared: @unchecked Sendable {
    var client: AgentClient?
    var process: pid_t?
  }

  /// The time limit for closing its stream to a server.
  private static let timeLimit = Timeout(seconds: 1)

  private static let shared = Mutex(Shared())

  static func client(until deadline: Deadline) throws -> AgentClient {
    if let client = shared.withLock({ $0 }).client {
      client.deadline = deadline
      return client
    }
    let (descriptor, process) = try AgentExecutable.start("once", flags: AgentExecutable.session)
    let client = AgentClient(AgentSocket(descriptor), of: process, until: deadline)
    shared.withLock { $0 = Shared(client: client, process: process) }
    return client
  }

  /// Ends the agent, and returns when its process has ended.
  static func end() {
    let ending = shared.withLock { shared in
      defer { shared = Shared() }
      return shared
    }
    guard let process = ending.process else { return }
    ending.client?.end(within: timeLimit)
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0 && errno == EINTR {}
  }

  /// Sends one request.
  ///
  /// - Parameters:
  ///   - onStep: Receives the progress of a stream.
  ///   - onItem: Receives the values that the request asks for.
  static func ask<Method: AgentMethod>(
    _ method: Method.Type, _ parameters: Method.Parameters, until deadline: Deadline,
    onStep: (Event.Body) -> Void = { _ in }, onItem: @escaping (RPCReply) throws -> Void = { _ in },
    onNotice: @escaping (AgentNotice) throws -> Void = { _ in }
  ) throws -> Method.Result {
    let client = try client(until: deadline)
    client.onItem = onItem
    client.onNotice = onNotice
    return try client.answer(to: client.send(method, parameters)) { onStep($0.body) }
  }

  /// Sends a request for ``Shown`` values, and prints them as a list: as the agent wrote them with `--json`, otherwise
  /// as a table that begins with ``TextTable/Column/nameAndJID``. Returns whether there were any.
  static func list<Method: AgentMethod, Value: Codable & Sendable>(
    _ method: Method.Type, _ parameters: Method.Parameters, _ columns: [TextTable.Column],
    _ options: AccountCommandOptions, cells: @escaping (Value) -> [TextTable.Cell]
  ) throws -> Bool {
    let output = options.output
    var table = TextTable(TextTable.Column.nameAndJID + columns, output.style)
    var isEmpty = true
    _ = try ask(
      method, parameters, until: Deadline(options.timeout),
      onItem: { reply in
        isEmpty = false
        if output.json { return output.forward(reply) }
        let shown = try reply.item(Shown<Value>.self)
        table.add(shown.appearance.nameAndJID + cells(shown.value))
      })
    output.lines(table.lines())
    return !isEmpty
  }

  /// Answers the question of a notice.
  static func answerQuestion(with answer: String?, until deadline: Deadline) throws {
    _ = try client(until: deadline).send(QuestionAnswerMethod.self, .init(answer: answer))
  }

  /// The failure for a request whose time limit has passed. An agent that waits for a lock of the store is killed,
  /// because it would not notice the end of the connection.
  static func timeoutFailure<Method: AgentMethod>(of _: Method.Type) -> Failure {
    if Method.asksServer { return .timedOut(.usage(.server)) }
    if let process = shared.withLock({ $0 }).process { kill(process, SIGKILL) }
    return .timedOut(AccountCommand.store)
  }

  /// The failure for an agent that closed the connection without an answer.
  static func failure(of process: pid_t) -> Failure {
    shared.withLock { $0 = Shared() }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let signal = status & 0x7f
    let detail: FailureDetail =
      signal == 0 ? .agent(.exited, status >> 8 & 0xff) : .agent(.killed, signal)
    return Failure(.internalError, stage: .request, detail: detail)
  }
}
