import AgentProtocol
import AgentService
import AgentSystem
import Dispatch
import Glibc

/// Runs `login --foreground`: this process is the agent of one session, until the session ends finally or a signal
/// arrives.
///
/// The command that started it requests the login over a socket pair, prints the events that it receives, and gets the
/// answer when the session has ended. If the command ends, so does the session.
struct ForegroundSession {
  private let connection: CommandConnection

  init(_ connection: CommandConnection) { self.connection = connection }

  func run() {
    signal(SIGPIPE, SIG_IGN)
    while let line = connection.next() {
      guard let call = try? RPCCall(line: line), let id = call.id else { continue }
      if call.method == LoginMethod.name { return connection.write(stay(call, id)) }
      let status = AgentStatusMethod.Result(
        version: Version.current, pid: Int(getpid()), started: Timestamp.now(), accounts: 1, online: 0,
        clients: 1)
      connection.write(RPC.answer(id, status))
    }
  }

  /// Runs the session. Returns the answer to the request.
  private func stay(_ call: RPCCall, _ id: RPCID) -> String {
    do throws(RPCError) {
      let parameters = try call.parameters(of: LoginMethod.self)
      var terms = AgentTerms()
      terms.notify = NotifySocket.fromEnvironment()
      endWithCommand()
      do throws(Failure) {
        try Foreground.run { [terms, connection] () async throws(Failure) in
          try await AgentProcess(.current(), terms).run(login: parameters) {
            connection.write(RPC.notification($0))
          }
        }
      } catch {
        throw RPCError(error)
      }
      return RPC.answer(id, LoginMethod.Result(success: nil, already: false))
    } catch {
      return RPC.answer(id, error)
    }
  }

  private func endWithCommand() {
    DispatchQueue.global().async { [connection] in
      while connection.next() != nil {}
      kill(getpid(), SIGTERM)
    }
  }
}
