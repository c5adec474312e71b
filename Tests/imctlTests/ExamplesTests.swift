import FoundationEssentials
import TestSupport
import Testing

/// The programs in `Examples`, as their readers run them.
@Suite(.timeLimit(.minutes(4)))
struct ExamplesTests {
  private static let examples: String = {
    let own = #filePath.split(separator: "/").dropLast(3)
    return "/" + own.joined(separator: "/") + "/Examples"
  }()

  /// What a shell of the user of `imctl` has.
  private static func environment(_ imctl: IMCTL) -> [String: String?] {
    let directory = IMCTL.executable.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    return [
      "HOME": imctl.home, "XDG_CONFIG_HOME": imctl.home + "/.config",
      "XDG_STATE_HOME": imctl.home + "/.local/state", "PATH": directory + ":/usr/bin:/bin",
    ]
  }

  /// Runs `presence-around-build.sh` in a directory with the name `engine`.
  private static func build(_ command: String, _ imctl: IMCTL) async throws -> (Int32, output: String) {
    let directory = imctl.home + "/engine"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let child = try await ChildProcess(
      "/bin/sh", [examples + "/presence-around-build.sh", "/bin/sh", "-c", command],
      environment: environment(imctl), workingDirectory: directory)
    child.closeInput()
    guard case .exited(let status) = try await child.ended(within: .seconds(60)) else {
      throw TestSupportError("the script did not end: \(child.errors.text)")
    }
    return (status, child.output.text)
  }

  private static func login(_ imctl: IMCTL, _ server: TestServer) async throws {
    let login = try await imctl.run(
      "login", server.jid("alice"), "--password-stdin", "--host", TestServer.host, "--port", "\(server.port)",
      "--ca-file", server.caFile, "-q", input: server.password("alice"))
    try #require(login.status == 0, "\(login.errors)")
  }

  @Test(
    "The script presence-around-build.sh shows dnd during a build, then the result, and keeps its exit status."
  )
  func presenceAroundBuild() async throws {
    let server = try await TestServer(.init(.prosody))
    let bob = try await Counterpart(on: server)
    let imctl = try await IMCTL()
    try await Self.login(imctl, server)
    let set = try await imctl.run("presence", "xa", "reading")
    #expect(set.status == 0)
    try await bob.presence { $0.show == "xa" }

    // The build waits until bob has seen that it runs.
    let seen = imctl.home + "/seen"
    async let built = Self.build("echo compiling; while [ ! -e \(seen) ]; do sleep 0.1; done; exit 3", imctl)
    try await bob.presence { $0.show == "dnd" && $0.status == "building engine" }
    #expect(FileManager.default.createFile(atPath: seen, contents: nil))
    let result = try await built
    #expect(result.0 == 3)
    #expect(result.output == "compiling\n")
    try await bob.presence { $0.show == "xa" && $0.status == "engine: build failed (3)" }

    #expect(try await Self.build("true", imctl).0 == 0)
    try await bob.presence { $0.show == "xa" && $0.status == "engine is built" }

    try await imctl.end()
    try await bob.end()
    try await server.end()
  }

  @Test("The script presence-around-build.sh only runs the build if nobody is logged in.")
  func presenceAroundBuildOffline() async throws {
    let imctl = try await IMCTL()
    let result = try await Self.build("echo compiling; exit 3", imctl)
    #expect(result.0 == 3)
    #expect(result.output == "compiling\n")
    #expect(try await imctl.processes().isEmpty)
    try await imctl.end()
  }

  @Test(
    "PresenceMonitor goes online, prints presence and messages with control characters escaped, and ends.")
  func presenceMonitor() async throws {
    let server = try await TestServer(.init(.prosody))
    let bob = try await Counterpart(on: server)
    let directory = IMCTL.executable.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    let monitor = try await ChildProcess(
      directory + "/PresenceMonitor",
      [
        server.jid("alice"), "--status", "looking", "--seconds", "60", "--messages", "1", "--host",
        TestServer.host, "--port", "\(server.port)", "--ca-file", server.caFile,
      ])
    monitor.write(server.password("alice") + "\n")
    let alice = try await bob.presence { $0.type == "available" && $0.status == "looking" }
    try bob.send("午餐\u{85}?", to: alice.from)
    #expect(try await monitor.ended(within: .seconds(90)) == .exited(0), "\(monitor.errors.text)")
    let lines = monitor.output.lines
    #expect(lines.first?.hasPrefix("online as \(alice.from), SCRAM-SHA-1, ") == true)
    #expect(lines.contains { $0.hasPrefix("presence \(server.jid("bob"))/") && $0.contains(" available ") })
    #expect(lines.last == #"message \#(bob.jid) "午餐\u{0085}?""#)
    try await bob.presence { $0.type == "unavailable" }
    try await bob.end()
    try await server.end()
  }

  @Test("EchoBot answers each chat message with its own text, even after a restart of the server.")
  func echoBot() async throws {
    let server = try await TestServer(.init(.prosody))
    var bob = try await Counterpart(on: server)
    let directory = IMCTL.executable.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    let bot = try await ChildProcess(
      directory + "/EchoBot", [server.jid("alice"), TestServer.host, "\(server.port)", server.caFile])
    bot.write(server.password("alice") + "\n")
    let alice = try await bob.presence { $0.type == "available" && $0.from.hasPrefix(server.jid("alice")) }
    try bob.send("one", to: alice.from)
    try await bob.message { $0.body == "one" }
    try await server.kill()
    try await server.start()
    try await bob.end()
    bob = try await Counterpart(on: server)
    let again = try await bob.presence { $0.type == "available" && $0.from.hasPrefix(server.jid("alice")) }
    try bob.send("two", to: again.from)
    try await bob.message { $0.body == "two" }
    try await bob.end()
    try await server.end()
  }

  @Test("PresenceMonitor tells why a login failed.")
  func presenceMonitorWrongPassword() async throws {
    let server = try await TestServer(.init(.prosody))
    let directory = IMCTL.executable.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    let monitor = try await ChildProcess(
      directory + "/PresenceMonitor",
      [
        server.jid("alice"), "--host", TestServer.host, "--port", "\(server.port)", "--ca-file",
        server.caFile,
      ])
    monitor.write("wrong\n")
    #expect(try await monitor.ended(within: .seconds(60)) == .exited(1))
    #expect(monitor.output.text.isEmpty)
    #expect(monitor.errors.text.contains("not-authorized"), "\(monitor.errors.text)")
    try await server.end()
  }
}
