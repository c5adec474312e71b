import Glibc

/// Files and sockets that a process must be able to open still, whatever it is doing.
///
/// libdispatch, which Swift's tasks run on, counts its threads by opening a file for each, and ends a process that cannot:
/// whoever opens many connections has to stop before.
package enum DescriptorReserve {
  /// What connections to servers leave.
  package static let ofConnections = 64

  /// Whether the last `count` descriptors that this process may have are free. The system gives the lowest free one, so that
  /// as many more files can be opened at least.
  package static func leaves(_ count: Int) -> Bool {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
      let most = Int32(exactly: limit.rlim_cur)
    else { return true }
    return leaves(count, of: most)
  }

  static func leaves(_ count: Int, of limit: Int32) -> Bool {
    let first = max(0, limit - Int32(clamping: count))
    var last = (first..<limit).map { pollfd(fd: $0, events: 0, revents: 0) }
    let isKnown = poll(&last, nfds_t(last.count), 0) >= 0
    return !isKnown || last.allSatisfy { $0.revents & Int16(POLLNVAL) != 0 }
  }
}
