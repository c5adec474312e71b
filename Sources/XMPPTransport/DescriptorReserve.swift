import Glibc

/// File descriptors that a process must keep free.
///
/// libdispatch, on which Swift's tasks run, opens a file to count its threads, and ends the process if it cannot. Code
/// that opens many connections has to stop before.
package enum DescriptorReserve {
  /// The number of descriptors that connections to servers leave free.
  package static let ofConnections = 64

  /// Whether the last `count` descriptors of this process's limit are free. Since the system assigns the lowest free
  /// descriptor, at least as many more files can be opened.
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
