import AgentProtocol
import AgentSession

extension SessionRegistry {
  /// Logs out all sessions at the same time, because each may have to wait for its server.
  static func logout(
    _ sessions: [Session], _ parameters: LogoutMethod.Parameters
  ) async throws(Failure) -> LogoutMethod.Result {
    // Not a task group: from one whose children return tuples, optimised code of Swift 6.3 loses results.
    let logouts = sessions.map { session in
      Task { () async -> Result<LogoutMethod.Result, Failure> in
        do throws(Failure) { return .success(try await session.logout(parameters)) } catch {
          return .failure(error)
        }
      }
    }
    // All of them are awaited before the first failure is thrown.
    let outcomes = await withTaskCancellationHandler {
      var outcomes: [Result<LogoutMethod.Result, Failure>] = []
      for logout in logouts { outcomes.append(await logout.value) }
      return outcomes
    } onCancel: {
      for logout in logouts { logout.cancel() }
    }
    var result = LogoutMethod.Result(accounts: [])
    for outcome in outcomes { result.add(try outcome.get()) }
    return result
  }
}
