import AgentProtocol
import Glibc

/// How many files and connections this process may have open at a time (getrlimit(2)).
enum OpenFileLimit {
  /// More than anybody has accounts.
  private static let most: rlim_t = 1 << 16
  /// What the agent has open beside its sessions: its clients, the store, and what it starts.
  static let beside = AgentServer.maximumClients + 32

  /// From now on as many as the system lets it have without more rights.
  static func raise() {
    var limit = current
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, most))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Why so many sessions cannot all be online at a time; nil: they can.
  static func failure(for sessions: Int, limit: UInt = current.rlim_cur) -> Failure? {
    let needed = sessions + beside
    guard limit < UInt(needed) else { return nil }
    return Failure(
      .agentUnreachable, stage: .request,
      detail: "\(limit) files may be open at a time, \(needed) are needed for all sessions and clients")
  }

  private static var current: rlimit {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit
  }
}
