import CLinux
import Glibc

/// The settings that an agent makes for its own process before it opens anything.
package enum ProcessSettings {
  /// Uses one heap for all threads, raises the limit of open files, and protects secrets in memory: no core dump is
  /// written, and other processes of this user cannot read the memory. A closed pipe causes an error instead of a
  /// signal.
  package static func apply() {
    linux_use_one_heap()
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = DescriptorLimit.raise(to: DescriptorLimit.most)
    linux_set_dumpable(0)
    signal(SIGPIPE, SIG_IGN)
  }
}
