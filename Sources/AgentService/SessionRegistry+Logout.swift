import AgentProtocol
import AgentSession

extension SessionRegistry {
  /// Logs out all sessions at the same time, because each may have to wait for its server.
  static func logout(
    _ sessions: [Session], _ parameters: LogoutMethod.Parameters
  ) async throws(Failure) -> LogoutMethod.Result {
    let outcomes = await withTaskGroup { group in
      for (place, session) in sessions.enumerated() {
        group.addTask {
          do throws(Failure) {
            return (place, Result<_, Failure>.success(try await session.logout(parameters)))
          } catch {
            return (place, .failure(error))
          }
        }
      }
      var outcomes: [Int: Result<LogoutMethod.Result, Failure>] = [:]
      for await (place, outcome) in group { outcomes[place] = outcome }
      return outcomes
    }
    var result = LogoutMethod.Result(accounts: [])
    for place in sessions.indices { if let outcome = outcomes[place] { result.add(try outcome.get()) } }
    return result
  }
}
