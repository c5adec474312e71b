import AgentProtocol
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport

/// Something that listens on the agent's socket and answers as a test says.
final class FakeAgent: Sendable {
  /// What it does on a request.
  enum Move: Sendable {
    case result(any Encodable & Sendable)
    case failure(Failure)
    case event(Event)
    /// These bytes as they are.
    case raw(String)
    /// Closes the connection.
    case close
    /// Answers agents' greetings as this version from now on.
    case become(String)
    /// Waits until the command closes the connection.
    case waitForClose
  }
  typealias Answers = @Sendable (RPCCall) -> [Move]

  private struct State {
    var version: String
    var lines: [String] = []
    var methods: [String] = []
    var closed = 0
    var open: Set<Int32> = []
  }

  let socketPath: String
  private let listener: Int32
  private let state: Mutex<State>
  private let answers: Answers

  /// - Parameter version: what it says it is.
  init(_ imctl: IMCTL, version: String = Version.current, _ answers: @escaping Answers) throws {
    let directory = imctl.home + "/.local/state/imctl"
    try PrivateDirectory.ensure(directory)
    socketPath = directory + "/agent.sock"
    state = Mutex(State(version: version))
    self.answers = answers
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(listener, 16) == 0 else {
      throw TestSupportError("\(socketPath): \(String(cString: strerror(errno)))")
    }
    detachThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        if client < 0 {
          // Here, when nobody calls accept any more: its number may be another socket's at once.
          close(listener)
          return
        }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        detachThread { [self] in serve(client) }
      }
    }
  }

  /// Methods called so far, greetings left out.
  var methods: [String] { state.withLock { $0.methods } }

  /// The parameters of the last call of a method.
  func parameters<Method: AgentMethod>(of method: Method.Type) throws -> Method.Parameters? {
    let lines = state.withLock { $0.lines }
    for line in lines.reversed() {
      let call = try RPCCall(line: line)
      if call.method == Method.name { return try call.parameters(of: method) }
    }
    return nil
  }

  /// Everything that was sent to it.
  var received: String { state.withLock { $0.lines.joined(separator: "\n") } }

  /// Connections that the commands closed.
  var closedConnections: Int { state.withLock { $0.closed } }

  /// Goes away as an agent does that ends.
  func end() {
    unlink(socketPath)
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// Ends the connections there are.
  func drop() { for client in state.withLock({ $0.open }) { shutdown(client, Int32(SHUT_RDWR)) } }

  private func serve(_ client: Int32) {
    state.withLock { _ = $0.open.insert(client) }
    defer {
      state.withLock { _ = $0.open.remove(client) }
      // A command of another test, started between accept and fcntl, may hold it open: closing alone would not do.
      shutdown(client, Int32(SHUT_RDWR))
      close(client)
      state.withLock { $0.closed += 1 }
    }
    var framer = LineFramer()
    var room = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(client, &room, room.count)
      if count <= 0 { return }
      framer.append(room[..<count])
      while let line = try? framer.next() {
        guard let call = try? RPCCall(line: line), let id = call.id else { return }
        for move in moves(call, line) {
          switch move {
          case .result(let value): send(RPC.answer(id, value), to: client)
          case .failure(let failure): send(RPC.answer(id, RPCError(failure)), to: client)
          case .event(let event): send(RPC.notification(event), to: client)
          case .raw(let text): send(text, to: client)
          case .close: return
          case .become(let version): state.withLock { $0.version = version }
          case .waitForClose: while read(client, &room, room.count) > 0 {}
          }
        }
      }
    }
  }

  private func moves(_ call: RPCCall, _ line: String) -> [Move] {
    let version = state.withLock { state in
      state.lines.append(line)
      if call.method != AgentStatusMethod.name { state.methods.append(call.method) }
      return state.version
    }
    let moves = answers(call)
    if moves.isEmpty && call.method == AgentStatusMethod.name { return [.result(Self.status(version))] }
    return moves
  }

  static func status(_ version: String) -> AgentStatusMethod.Result {
    .init(
      version: version, pid: 4711, started: "2025-11-21T02:42:13.123Z", accounts: 2, online: 1, clients: 1)
  }

  private func send(_ text: String, to client: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes {
        Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }
}

extension FakeAgent {
  /// An agent that gives every message the same state of delivery.
  static func delivering(_ imctl: IMCTL, _ state: DeliveryState = .sent) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      if call.method == MessageSendLinesMethod.name,
        let messages = try? call.parameters(of: MessageSendLinesMethod.self).messages.messages
      {
        return [.result([MessageSendLinesMethod.OutcomeRun(count: messages.count, state: state)])]
      }
      guard call.method == MessageSendMethod.name,
        let messages = try? call.parameters(of: MessageSendMethod.self).messages
      else { return [] }
      return [
        .result(messages.map { MessageSendMethod.Outcome(id: $0.id ?? "", to: $0.to, state: state) })
      ]
    }
  }
}

extension SessionStatus {
  /// alice, online.
  static var alice: SessionStatus {
    var status = SessionStatus(account: "alice@example.org", state: .syncOK)
    status.fullJID = "alice@example.org/res"
    status.since = "2025-11-21T02:42:13.123Z"
    status.presence = PresenceStatus(show: .away, status: "lunch", priority: 5, applied: true)
    var server = Server()
    server.host = "127.0.0.1"
    server.port = 15_222
    server.tls = .init(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
    server.mechanism = "SCRAM-SHA-1"
    status.server = server
    status.sessions = 1
    return status
  }
}

/// Runs a test with an `imctl` whose home is its own, and deletes that afterwards.
func withIMCTL(
  environment: [String: String?] = [:], _ test: (IMCTL) async throws -> Void
) async throws {
  let imctl = try await IMCTL(environment: environment)
  do {
    try await test(imctl)
  } catch {
    try? await imctl.end()
    throw error
  }
  try await imctl.end()
}

/// Runs `body` on a thread that may block.
private func detachThread(_ body: @escaping @Sendable () -> Void) {
  final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    { work in
      work.map { Unmanaged<Work>.fromOpaque($0).takeRetainedValue().body() }
      return nil
    }, Unmanaged.passRetained(Work(body)).toOpaque())
  pthread_detach(thread)
}
