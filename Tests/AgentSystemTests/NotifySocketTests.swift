import Glibc
import TestSupport
import Testing

@testable import AgentSystem

@Suite struct NotifySocketTests {
  /// What a service manager has: a datagram socket at a path, or (`@`) under an abstract name.
  private final class Manager {
    private let descriptor: Int32

    init(_ name: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = [UInt8](name.utf8)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      if name.hasPrefix("@") { address.sun_path.0 = 0 }
      let length = MemoryLayout<sa_family_t>.size + bytes.count
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
      }
      guard bound == 0 else { throw Errno.last }
    }

    deinit { close(descriptor) }

    /// The next datagram; empty where there is none.
    func receive() -> String {
      var room = [UInt8](repeating: 0, count: 1000)
      let count = recv(descriptor, &room, room.count, Int32(MSG_DONTWAIT))
      return String(decoding: room[..<max(0, count)], as: UTF8.self)
    }
  }

  @Test("A service manager receives notifications at a path and at an abstract name.")
  func messages() throws {
    let directory = try TemporaryDirectory()
    for name in [directory.path + "/notify", "@imctl-test-\(getpid())-\(directory.path.suffix(6))"] {
      let manager = try Manager(name)
      let socket = try #require(NotifySocket(path: name))
      socket.send(.ready)
      #expect(manager.receive() == "READY=1")
      socket.send(.stopping, .status("two\nlines"))
      #expect(manager.receive() == "STOPPING=1\nSTATUS=two lines")
      socket.send(.reloading(microseconds: 7))
      #expect(manager.receive() == "RELOADING=1\nMONOTONIC_USEC=7")
      socket.send(.watchdog)
      #expect(manager.receive() == "WATCHDOG=1")
    }
  }

  @Test("A missing listener is not an error, and an invalid NOTIFY_SOCKET is ignored.")
  func nobody() throws {
    try #require(NotifySocket(path: "/nowhere/at/all")).send(.ready)
    let long = "/" + String(repeating: "x", count: 200)
    for path in [nil, "", "/", "@", "relative", "vsock:2:1", long] {
      #expect(NotifySocket(path: path) == nil)
    }
  }

  @Test("The watchdog is notified at half its interval, and only by the process that it names.")
  func watchdog() throws {
    func interval(_ microseconds: String?, _ pid: String?) -> Duration? {
      NotifySocket(path: "/x", watchdog: microseconds, watchdogPID: pid, pid: 42)?.watchdogInterval
    }
    #expect(interval("2000000", nil) == .seconds(1))
    #expect(interval("2000000", "42") == .seconds(1))
    for (microseconds, pid) in [("2000000", "43"), ("0", nil), ("-1", nil), ("soon", nil), (nil, "42")] {
      #expect(interval(microseconds, pid) == nil)
    }
  }
}
