import CLinux
import Glibc

/// What an agent asks of the operating system for its own process, before it opens anything.
package enum ProcessSettings {
  /// One heap for all threads, as many files as may be open, and nobody gets to see secrets in memory: no core dump is
  /// written, and no other process of this user may read ours. A closed pipe is an error of its write, not the end of
  /// the process.
  package static func apply() {
    linux_use_one_heap()
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = DescriptorLimit.raise(to: DescriptorLimit.most)
    linux_set_dumpable(0)
    signal(SIGPIPE, SIG_IGN)
  }
}
