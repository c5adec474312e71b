import Glibc

/// Where a service manager wants to hear from the process that it has started (sd_notify(3)).
///
/// The variables that name it are taken out of the environment: no child process is to speak in our name.
package struct NotifySocket: Sendable {
  /// What is told.
  package enum Message: Sendable, Equatable {
    /// What was started, or loaded anew, serves.
    case ready
    /// `microseconds`: the monotonic clock's.
    case reloading(microseconds: UInt64)
    case stopping
    /// What was started needs at least so much longer.
    case extending(seconds: Int)
    /// Still alive.
    case watchdog
    /// For people: what is shown beside the state.
    case status(String)

    package var text: String {
      switch self {
      case .ready: "READY=1"
      case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
      case .stopping: "STOPPING=1"
      case .extending(let seconds): "EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000)"
      case .watchdog: "WATCHDOG=1"
      case .status(let text): "STATUS=" + text.split(whereSeparator: \.isNewline).joined(separator: " ")
      }
    }
  }

  /// How often the manager wants to hear ``Message/watchdog``, with room to spare; nil: not at all.
  package let watchdogInterval: Duration?
  private let address: sockaddr_un
  private let length: socklen_t

  /// Takes the variables out of the environment of this process, which must have one thread only. Nil where no service
  /// manager has started it.
  package static func fromEnvironment() -> NotifySocket? {
    let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]
    let values = names.map { getenv($0).map { String(cString: $0) } }
    for name in names { unsetenv(name) }
    return NotifySocket(path: values[0], watchdog: values[1], watchdogPID: values[2], pid: getpid())
  }

  /// - Parameters:
  ///   - path: absolute, or `@` and an abstract name; nil for any other.
  ///   - watchdog: microseconds within which the manager wants a sign of life, where `watchdogPID` is absent or ours.
  package init?(path: String?, watchdog: String? = nil, watchdogPID: String? = nil, pid: pid_t = getpid()) {
    guard let path, let first = path.utf8.first, path.utf8.count > 1, [0x2F, 0x40].contains(first) else {
      return nil
    }
    var name = Array(path.utf8)
    let isAbstract = first == 0x40
    // An abstract name begins with a NUL and is as long as it is; a path ends with one.
    if isAbstract { name[0] = 0 } else { name.append(0) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    self.address = address
    length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + name.count } ?? 0)
    let isForUs = watchdogPID.map { $0 == String(pid) } ?? true
    let microseconds = isForUs ? watchdog.flatMap(Int64.init) : nil
    watchdogInterval = microseconds.flatMap { $0 > 0 ? .microseconds($0 / 2) : nil }
  }

  /// Sends a datagram. One that cannot be sent is lost: a process does not fail because nobody listens.
  package func send(_ messages: Message...) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var text = messages.map(\.text).joined(separator: "\n")
    var address = address
    text.withUTF8 { bytes in
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = sendto(
            descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0, length)
        }
      }
    }
  }

  /// Microseconds of the monotonic clock, for ``Message/reloading(microseconds:)``.
  package static var monotonic: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
  }
}
