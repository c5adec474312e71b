import AgentProtocol
import Dispatch
import Glibc

/// What a test asks the running agent again and again, over its socket: no process is started for it.
extension IMCTL {
  /// Asks the running agent as a command would, after a pause: who asks again and again leaves the processor to the agent.
  ///
  /// - Returns: `nil` where no agent listens, or it ends before it has answered.
  public func ask<Method: AgentMethod>(
    _ method: Method.Type, _ parameters: Method.Parameters
  ) async throws -> Method.Result? {
    let paths = AgentPaths(configuration: home + "/.config/imctl", state: home + "/.local/state/imctl")
    let request = RPC.request(method, id: .number(1), parameters)
    try await Task.sleep(for: .milliseconds(50))
    let line = try await withCheckedThrowingContinuation { waiter in
      // A thread that may block.
      DispatchQueue.global().async {
        waiter.resume(with: Swift.Result { try answer(to: request, from: paths.socket) })
      }
    }
    return try line.map { try RPCReply(line: $0).result(of: method) }
  }

  /// What the running agent says of itself; `nil` where there is none.
  public func runningAgent() async throws -> AgentStatusMethod.Result? {
    try await ask(AgentStatusMethod.self, EmptyObject())
  }

  /// What the running agent says of a session, by default of the only account; where no agent is running, `imctl status` tells
  /// of the stored account.
  public func session(_ account: String? = nil) async throws -> SessionStatus? {
    if let sessions = try await ask(StatusMethod.self, .init(account: account)) { return sessions.first }
    let words = ["status", "--json"] + (account.map { ["--account", $0] } ?? [])
    return try await run(words).objects(SessionStatus.self).first
  }
}

/// The first line that a listener at `path` answers; `nil` where nobody listens or the connection ends.
private func answer(to request: String, from path: String) throws -> String? {
  let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  defer { close(client) }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  let connected = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  guard connected == 0 else { return nil }
  var limit = timeval(tv_sec: 30, tv_usec: 0)
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  let bytes = Array(request.utf8)
  guard send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return nil }
  var framer = LineFramer(limit: 1 << 26)
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    if let line = try framer.next() { return line }
    let count = read(client, &chunk, chunk.count)
    guard count > 0 else { return nil }
    framer.append(chunk[..<count])
  }
}
