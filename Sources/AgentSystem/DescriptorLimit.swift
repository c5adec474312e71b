import AgentProtocol
import Glibc

/// How many files and sockets this process may have open (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
  /// Raises the limit as far as it may be; gives what it is then.
  package static func raise(to wanted: Int) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 1024 }
    if limit.rlim_cur < rlim_t(wanted) {
      var raised = limit
      raised.rlim_cur = min(rlim_t(wanted), limit.rlim_max)
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }

  /// More than anybody has accounts.
  package static let most = 1 << 16
  /// What the agent has open beside its sessions: some clients, the store, and what it starts.
  package static let beside = 96

  /// Why so many sessions cannot all be online at a time; nil: they can.
  ///
  /// - Parameter limit: what this process may have open.
  package static func failure(for sessions: Int, limit: Int = raise(to: most)) -> Failure? {
    let needed = sessions + beside
    guard limit < needed else { return nil }
    return Failure(
      .agentUnreachable, stage: .request,
      detail: .agent(.tooFewFiles, limit, needed))
  }
}
