import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("An agent that cannot write its files", .timeLimit(.minutes(8)))
struct DiskFullTests {
  /// A small file system of its own at a path, as long as it is held.
  private final class SmallDisk: Sendable {
    private let path: String

    init(at path: String, kilobytes: Int) throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      guard mount("imctl-test", path, "tmpfs", 0, "size=\(kilobytes)k,mode=700") == 0 else {
        throw TestSupportError("mount: \(String(cString: strerror(errno)))")
      }
      self.path = path
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Leaves no room on it.
    func fill() {
      let file = open(path + "/filling", O_WRONLY | O_CREAT, 0o600)
      defer { close(file) }
      let block = [UInt8](repeating: 1, count: 4096)
      while write(file, block, block.count) > 0 {}
    }

    func empty() { unlink(path + "/filling") }
  }

  @Test(
    "A full disk is reported by status and an event, and agent restart then keeps the running agent.",
    .enabled(if: geteuid() == 0))
  func full() async throws {
    let user = try await User()
    let state = user.imctl.home + "/.local/state"
    let disk = try SmallDisk(at: state, kilobytes: 4096)
    defer { disk.empty() }
    try await user.goOnline()
    let pid = try await user.agent()
    let watch = try await user.watch("store")
    disk.fill()
    // Each message takes some of the log until its last page is taken.
    let line = String(repeating: "x", count: 20_000)
    try await eventually("a refusal") {
      try await user.imctl.run("send", user.jid, line).status == 73
    }
    let status = try await user.status()
    #expect(status.isOnline && status.warnings?.first?.name == .databaseError)
    #expect(status.warnings?.first?.message.contains("full") == true)
    let told = try await watch.output.first("the event") { _ in
      try watch.events().lazy.compactMap { if case .store(let change) = $0.body { change } else { nil } }
        .first
    }
    #expect(told.cause?.message.contains("full") == true)
    let restart = try await user.imctl.run("agent", "restart")
    #expect(restart.status == 73 && restart.errors.contains("No space left on device"))
    #expect(try await user.agent() == pid)
    #expect(try await user.status().isOnline)
    disk.empty()
    #expect(try await user.imctl.run("send", user.jid, "again").status == 0)
    #expect(try await user.status().warnings == nil)
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    _ = try await watch.stop()
  }

  @Test(
    "The command agent restart keeps the running agent if the next one could not write its files.",
    .enabled(if: geteuid() == 0), arguments: ["agent.log", "imctl.sqlite", "agent.lock"])
  func unwritable(name: String) async throws {
    let user = try await User()
    try await user.goOnline()
    let pid = try await user.agent()
    let path = user.imctl.home + "/.local/state/imctl/" + name
    #expect(chmod(path, 0o400) == 0)
    // Without what has the system overlook modes.
    let bound = user.imctl.started(by: [
      "/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all",
    ])
    let restart = try await bound.run("agent", "restart")
    #expect(restart.status == 73 && restart.errors.contains("\(path): Permission denied"), "\(restart)")
    #expect(try await user.agent() == pid)
    #expect(try await user.status().isOnline)
    #expect(chmod(path, 0o600) == 0)
    #expect(try await bound.run("agent", "restart").status == 0)
    #expect(try await user.imctl.run("agent", "stop").status == 0)
  }
}
