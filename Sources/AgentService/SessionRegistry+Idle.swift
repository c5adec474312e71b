import AgentProtocol
import AgentSession
import AgentStore
import AgentSystem

// The idle mode of the sessions, while the user is away and while the process is stopped.

extension SessionRegistry {
  func idle(_ parameters: AgentIdleMethod.Parameters) async throws(Failure) -> [IdleStatus] {
    try await setIdle(parameters.mode ?? onIdle, of: parameters.account)
  }

  func active(_ parameters: AgentActiveMethod.Parameters) async throws(Failure) -> [IdleStatus] {
    try await setIdle(nil, of: parameters.account)
  }

  private func setIdle(_ mode: IdleMode?, of account: String?) async throws(Failure) -> [IdleStatus] {
    if let account {
      let session = try await storedSession(account)
      let name = session.account.description
      await storeIdle { $0[name]?.idle = mode }
      return [await session.setIdle(mode)]
    }
    await storeIdle { file in
      file.idle = mode
      for account in file.accounts { file[account.account]?.idle = mode }
    }
    return await withTaskGroup(of: IdleStatus?.self) { group in
      for session in sessions.values {
        group.addTask { await session.isBusy ? await session.setIdle(mode) : nil }
      }
      var answer: [IdleStatus] = []
      for await status in group { if let status { answer.append(status) } }
      return answer.sorted { $0.account < $1.account }
    }
  }

  /// Stores the idle mode for the next agent. A failure of the store does not prevent the mode from taking effect.
  private func storeIdle(_ change: @escaping @Sendable (inout AccountFile) -> Void) async {
    do throws(Failure) { try await resources.accounts.updateInBackground(change) } catch {
      log.error("the idle mode could not be stored", metadata: ["failure": "\(error.message)"])
    }
  }

  /// Called when the terminal is about to stop the process.
  func stops() async {
    for session in sessions.values {
      guard await session.isBusy, await session.idle == nil else { continue }
      stopped.append(session)
      _ = await session.setIdle(onIdle)
    }
  }

  /// Called when the process continues, after an unknown time.
  func goesOn() async {
    let sessions = stopped
    stopped = []
    for session in sessions { _ = await session.setIdle(nil) }
    await networkChanged(NetworkChange())
  }
}
