import AgentProtocol
import AgentSession
import AgentStore
import AgentSystem
import Glibc
import NIOCore
import XMPPStanza

// The state of the sessions, and of the agent.

extension SessionRegistry {
  func status(_ parameters: StatusMethod.Parameters) async throws(Failure) -> [SessionStatus] {
    let file = try await loaded().get()
    var answer: [SessionStatus] = []
    if parameters.all {
      for (jid, session) in sessions where jid.local == nil {
        guard await session.isActive else { continue }
        if parameters.probe { await session.probe(timeout: parameters.bound) }
        answer.append(await session.currentStatus())
      }
    } else if let session = await unstored(parameters.account, beside: .success(file)) {
      if parameters.probe { await session.probe(timeout: parameters.bound) }
      return try await completed([await session.currentStatus()])
    }
    let chosen = try parameters.all ? file.accounts : [file.account(parameters.account)]
    if parameters.probe { await probe(chosen, within: parameters.bound) }
    for account in chosen {
      if let session = existing(account.account) {
        answer.append(await session.currentStatus().completed(by: account))
      } else {
        answer.append(SessionStatus(stored: account))
      }
    }
    return try await completed(answer)
  }

  /// Probes the servers of these accounts at the same time.
  private func probe(_ accounts: [Account], within bound: TimeAmount) async {
    await withDiscardingTaskGroup { group in
      for account in accounts {
        guard let session = existing(account.account) else { continue }
        group.addTask { await session.probe(timeout: bound) }
      }
    }
  }

  /// - Parameter clients: the number of connected clients, the asking one included.
  func agentStatus(clients: Int) async -> AgentStatusMethod.Result {
    let count = (try? await loaded().get())?.accounts.count ?? sessions.count
    var online = 0
    for session in sessions.values where await session.isOnline { online += 1 }
    var status = AgentStatusMethod.Result(
      version: Version.current, pid: Int(getpid()), started: started, accounts: count,
      online: online, clients: clients)
    if isService { status.service = true }
    status.accountsError = onDisk.failure
    status.damagedStore = localStore.movedAside
    status.warnings = await warnings()
    return status
  }

  /// A summary for people who look at the service.
  var summary: String {
    get async {
      var online = 0
      var active = 0
      for session in sessions.values where await session.isBusy {
        active += 1
        if await session.isOnline { online += 1 }
      }
      return "\(online) of \(active) sessions online"
    }
  }

  /// Whether any session is active. Called often, so it stops at the first one.
  var isBusy: Bool {
    get async {
      for session in sessions.values where await session.isBusy { return true }
      return false
    }
  }

  /// The failure that ended the last session for good; nil where the agent is stopped or the user logged out.
  var lastEnd: Failure? {
    get async {
      if isEnding { return nil }
      var last: (failure: Failure, time: Double)?
      for session in sessions.values {
        guard let end = await session.endForGood, end.failure.name != .cancelled else { continue }
        if last.map({ $0.time < end.time }) != false { last = end }
      }
      return last?.failure
    }
  }

  /// Whether the account has no active session.
  func isIdle(_ account: String) async -> Bool {
    await existing(account)?.isBusy != true
  }

  /// The session of an account; nil if none was created yet.
  private func existing(_ account: String) -> Session? { (try? JID(account)).flatMap { sessions[$0] } }
}

extension StatusMethod.Parameters {
  /// The time limit for answers of a server.
  fileprivate var bound: TimeAmount { .nanoseconds(Int64(timeout * 1e9)) }
}
