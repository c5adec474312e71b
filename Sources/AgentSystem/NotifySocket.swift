import Glibc

/// The socket on which a service manager expects messages from this process (sd_notify(3)).
///
/// The environment variables that name it are removed, so that no child process sends messages in this one's name.
package struct NotifySocket: Sendable {
  /// A message to the service manager.
  package enum Message: Sendable, Equatable {
    /// The service has started or finished reloading.
    case ready
    /// `microseconds`: the time of the monotonic clock.
    case reloading(microseconds: UInt64)
    case stopping
    /// Starting takes at least this number of seconds more.
    case extending(seconds: Int)
    /// A sign of life.
    case watchdog
    /// A status text for people.
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

  /// How often to send ``Message/watchdog``, with a margin; nil where the manager does not ask for it.
  package let watchdogInterval: Duration?
  private let address: sockaddr_un
  private let length: socklen_t

  /// The socket in the environment, whose variables are removed. The process must have a single thread. Nil where no
  /// service manager has started it.
  package static func fromEnvironment() -> NotifySocket? {
    let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]
    let values = names.map { getenv($0).map { String(cString: $0) } }
    for name in names { unsetenv(name) }
    return NotifySocket(path: values[0], watchdog: values[1], watchdogPID: values[2], pid: getpid())
  }

  /// - Parameters:
  ///   - path: an absolute path, or `@` and an abstract name; nil for any other text.
  ///   - watchdog: the microseconds between signs of life; applies where `watchdogPID` is absent or this process.
  package init?(path: String?, watchdog: String? = nil, watchdogPID: String? = nil, pid: pid_t = getpid()) {
    guard let path, let first = path.utf8.first, path.utf8.count > 1, [0x2F, 0x40].contains(first) else {
      return nil
    }
    var name = Array(path.utf8)
    let isAbstract = first == 0x40
    // An abstract name starts with a NUL and has a length; a path ends with a NUL.
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

  /// Sends a datagram. Failures are ignored, because they must not end the process.
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

  /// The microseconds of the monotonic clock, for ``Message/reloading(microseconds:)``.
  package static var monotonic: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
  }
}
