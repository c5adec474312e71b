import AgentProtocol
import Glibc

/// The maximum number of open files and sockets of this process (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
  /// Raises the limit as far as permitted; returns the resulting limit.
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

  /// More than any user has accounts.
  package static let most = 1 << 16
  /// The descriptors that the agent needs beside its sessions: for clients, the store, and child processes.
  package static let beside = 96

  /// The failure for more sessions than can be online at a time; nil where all can.
  ///
  /// - Parameter limit: the descriptor limit of this process.
  package static func failure(for sessions: Int, limit: Int = raise(to: most)) -> Failure? {
    let needed = sessions + beside
    guard limit < needed else { return nil }
    return Failure(
      .agentUnreachable, stage: .request,
      detail: .agent(.tooFewFiles, limit, needed))
  }
}
