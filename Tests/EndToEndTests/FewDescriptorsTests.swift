import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("An agent that may open few files", .timeLimit(.minutes(4)))
struct FewDescriptorsTests {
  /// Stores accounts that are to be online at a server.
  private static func store(_ count: Int, for imctl: IMCTL, at server: ScriptedServer) throws {
    let accounts = (1...count).map { number in
      #"{"account":"u\#(number)@\#(TestServer.domain)","domain":"\#(TestServer.domain)","password":"secret","#
        + #""isLogin":true,"options":{"host":"\#(TestServer.host)","port":\#(server.port)}}"#
    }
    let directory = imctl.home + "/.config/imctl"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let path = directory + "/accounts.json"
    try Data(#"{"version":1,"accounts":[\#(accounts.joined(separator: ","))]}"#.utf8).write(
      to: URL(filePath: path))
    chmod(path, 0o600)
  }

  @Test(
    "An agent raises its limit of open files, warns where it is too low, and survives more accounts than fit."
  )
  func tooFew() async throws {
    // Each connection takes a descriptor for as long as the login may take.
    let server = try await ScriptedServer([.stall])
    let imctl = try await IMCTL()
    try Self.store(300, for: imctl, at: server)
    let limited = imctl.started(by: ["/usr/bin/prlimit", "--nofile=64:160"])
    #expect(try await limited.run("agent", "start").status == 0)
    func agent() async throws -> AgentStatusMethod.Result? {
      try await imctl.run("agent", "status", "--json").objects(AgentStatusMethod.Result.self).first
    }
    let pid = try #require(try await agent()?.pid)
    let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
    #expect(limits.split(separator: "\n").contains { $0.hasPrefix("Max open files") && $0.contains("160  ") })
    // More than were left to it with the limit that it was started with.
    try await eventually("its connections") { server.connections > 40 }
    for _ in 1...30 {
      let status = try #require(try await agent())
      #expect(status.pid == pid)
      #expect(status.warnings?.first?.message.contains("160 files can be open") == true)
    }
    #expect(try await imctl.run("agent", "stop").status == 0)
    try await imctl.end()
    try await server.end()
  }
}
