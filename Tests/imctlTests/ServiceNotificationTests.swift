import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Notifications from the agent to the service manager")
struct ServiceNotificationTests {
  /// What a service manager listens on.
  private final class Manager: Sendable {
    private let descriptor: Int32
    private let heard = Mutex<[String]>([])

    init(_ path: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard bound == 0 else { throw TestSupportError("\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// The lines it has been told so far.
    var lines: [String] {
      heard.withLock { heard in
        var room = [UInt8](repeating: 0, count: 1000)
        while true {
          let count = recv(descriptor, &room, room.count, Int32(MSG_DONTWAIT))
          if count <= 0 { return heard }
          heard += String(decoding: room[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
        }
      }
    }
  }

  @Test("The agent tells the service manager that it is ready, alive, reloading and stopping.")
  func told() async throws {
    try await withIMCTL { imctl in
      let path = imctl.home + "/notify"
      let manager = try Manager(path)
      let agent = try await imctl.start(
        ["agent", "run", "--keep"],
        environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": nil])
      try await eventually("its start") { manager.lines.contains("READY=1") }
      #expect(try await imctl.run("agent", "status", "--json").output.contains(#""service":true"#))
      try await eventually("its life") { manager.lines.count { $0 == "WATCHDOG=1" } > 2 }
      #expect(manager.lines.contains("STATUS=0 of 0 sessions online"))
      agent.send(SIGHUP)
      try await eventually("its reload") { manager.lines.contains("RELOADING=1") }
      try await eventually("its return") { manager.lines.count { $0 == "READY=1" } == 2 }
      #expect(!manager.lines.contains("STOPPING=1"))
      agent.send(SIGTERM)
      #expect(try await agent.ended(within: .seconds(90)) == .exited(0))
      #expect(manager.lines.contains("STOPPING=1"))
    }
  }

  @Test("An agent that a command starts does not notify the service manager of that command.")
  func launched() async throws {
    try await withIMCTL { imctl in
      let path = imctl.home + "/notify"
      let manager = try Manager(path)
      let start = try await imctl.run("agent", "start", environment: ["NOTIFY_SOCKET": path])
      #expect(start.status == 0)
      #expect(!start.output.contains("as a service"))
      #expect(try await imctl.run("agent", "stop").status == 0)
      try await eventually("its end") { try await imctl.processes().isEmpty }
      #expect(manager.lines == [])
    }
  }

  @Test(
    "An agent that is started with --keep replaces another agent, and stays without clients and accounts.")
  func kept() async throws {
    try await withIMCTL { imctl in
      let first = try await imctl.start(["agent", "run", "--keep"])
      try await eventually("its start") { try await imctl.runningAgent() != nil }
      let second = try await imctl.start(["agent", "run", "--keep"])
      #expect(try await first.ended(within: .seconds(90)) == .exited(0))
      try await eventually("the other's start") {
        try await imctl.runningAgent()?.pid == Int(second.id)
      }
      second.send(SIGTERM)
      #expect(try await second.ended(within: .seconds(90)) == .exited(0))
    }
  }
}
