import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The terminal's echo at a password prompt")
struct EchoTests {
  private static let question = "Password for alice@example.org: "
  private static let login = "\"$imctl\" login alice@example.org --timeout 300"
  /// Interactive shells. Unlike Bash, dash leaves the terminal as a stopped process has left it.
  enum Shell: String, CaseIterable {
    case bash = "bash --norc --noprofile -i"
    case dash = "dash -i"
  }
  private static let showEcho = "stty -a | grep -o -- '-*echo ' | sed 's/^/now: /'\n"

  private static func agent(_ imctl: IMCTL) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      switch call.method {
      case "watch": return [.result(WatchMethod.Result(cursor: 6))]
      case "login":
        let success = LoginSuccess(
          userId: "alice@example.org", fullJID: "alice@example.org/r", milliseconds: 1)
        return [.result(LoginMethod.Result(success: success, already: false))]
      default: return []
      }
    }
  }

  /// The process that asks.
  private static func asking(_ imctl: IMCTL) async throws -> Int32 {
    let ids = try await imctl.processes().filter { id in
      (try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)) == "imctl\n"
    }
    #expect(ids.count == 1)
    return try #require(ids.first)
  }

  /// Waits for as many occurrences.
  private static func shows(_ text: String, _ count: Int, _ child: ChildProcess) async throws {
    _ = try await child.output.first("“\(text)”, \(count) times") { transcript in
      transcript.text.ranges(of: text).count >= count ? true : nil
    }
  }

  @Test(
    "A signal that ends a password prompt leaves the echo on, even after a suspension.",
    arguments: [SIGTERM, SIGQUIT, SIGHUP, SIGINT], [false, true])
  func end(signal: Int32, afterStop: Bool) async throws {
    try await withIMCTL { imctl in
      let child = try await imctl.startShell(
        "\(Self.login); echo \"status $?\"; \(Self.showEcho)")
      try await Self.shows(Self.question, 1, child)
      let id = try await Self.asking(imctl)
      if afterStop {
        kill(id, SIGSTOP)
        kill(id, SIGCONT)
        try await Self.shows(Self.question, 2, child)
      }
      kill(id, signal)
      // With or without a dash in front.
      try await child.output.contains("echo \r\n")
      let status = signal == SIGINT ? 130 : 128 + signal
      #expect(child.output.text.contains("status \(status)\r\n"))
      #expect(child.output.text.contains("now: echo \r\n"))
      try await child.stop()
    }
  }

  @Test(
    "A password prompt that was suspended and continues asks again, without echo.",
    arguments: Shell.allCases, [SIGTSTP, SIGSTOP])
  func goOn(shell: Shell, signal: Int32) async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let child = try await imctl.startShell("exec \(shell.rawValue)")
      child.write(Self.login + "\n")
      try await Self.shows(Self.question, 1, child)
      if signal == SIGTSTP {
        child.write("\u{1a}")
      } else {
        kill(try await Self.asking(imctl), signal)
      }
      try await child.output.contains("Stopped")
      if signal == SIGTSTP {
        child.write(Self.showEcho)
        try await child.output.contains("now: echo \r\n")
      }
      child.write("fg\n")
      try await Self.shows(Self.question, 2, child)
      child.write("geheim\n")
      try await child.output.contains("alice@example.org/r online")
      #expect(child.output.text.ranges(of: Self.question).count == 2)
      #expect(!child.output.text.contains("geheim"))
      #expect(try agent.parameters(of: LoginMethod.self)?.password == "geheim")
      child.write("exit\n")
      _ = try await child.ended(within: .seconds(90))
      agent.end()
    }
  }

  @Test(
    "A password prompt in the background waits until the job is in the foreground.",
    arguments: Shell.allCases)
  func background(shell: Shell) async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let child = try await imctl.startShell("exec \(shell.rawValue)")
      child.write(Self.login + " & wait\n")
      try await Self.shows("Stopped", 1, child)
      #expect(!child.output.text.contains(Self.question))
      child.write("fg\n")
      try await Self.shows(Self.question, 1, child)
      child.write("\u{1a}")
      try await Self.shows("Stopped", 2, child)
      child.write("bg; wait\n")
      try await Self.shows("Stopped", 3, child)
      child.write(Self.showEcho)
      try await child.output.contains("now: echo \r\n")
      child.write("fg\n")
      try await Self.shows(Self.question, 2, child)
      child.write("geheim\n")
      try await child.output.contains("alice@example.org/r online")
      #expect(child.output.text.ranges(of: Self.question).count == 2)
      #expect(!child.output.text.contains("geheim"))
      #expect(try agent.parameters(of: LoginMethod.self)?.password == "geheim")
      child.write("exit\n")
      _ = try await child.ended(within: .seconds(90))
      agent.end()
    }
  }

  @Test("A password prompt that was suspended and sent to the background is ended by a signal.")
  func endInBackground() async throws {
    try await withIMCTL { imctl in
      let child = try await imctl.startShell("exec \(Shell.bash.rawValue)")
      child.write(Self.login + "\n")
      try await Self.shows(Self.question, 1, child)
      child.write("\u{1a}")
      try await Self.shows("Stopped", 1, child)
      let id = try await Self.asking(imctl)
      child.write("bg; wait\n")
      try await Self.shows("Stopped", 2, child)
      kill(id, SIGTERM)
      kill(id, SIGCONT)
      try await eventuallyEnded(id)
      child.write("exit\n")
      _ = try await child.ended(within: .seconds(90))
    }
  }

  private func eventuallyEnded(_ id: Int32) async throws {
    try await eventually("the end of the question", within: .seconds(60)) {
      (try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)) != "imctl\n"
    } failure: {
      (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
    }
  }
}
