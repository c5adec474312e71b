import AgentProtocol
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("imctl watch --exec")
struct WatchHookTests {
  private static func presence(_ cursor: Int64, _ status: String) -> Event {
    Event(
      account: "alice@example.org", time: "2025-11-21T02:42:13.123Z", cursor: cursor,
      body: .presence(PresenceChange(from: "bob@example.org/x", show: .away, status: status, priority: 0)))
  }

  /// Tells them in one write.
  private static func agent(_ imctl: IMCTL, _ events: [Event], then last: FakeAgent.Move) throws -> FakeAgent
  {
    try FakeAgent(imctl) { call in
      call.method == "watch"
        ? [.result(WatchMethod.Result(cursor: 0)), .raw(events.map(RPC.notification).joined()), last] : []
    }
  }

  /// A hook as a script of its own.
  private func script(_ imctl: IMCTL, _ text: String) -> String {
    let path = imctl.home + "/hook"
    _ = FileManager.default.createFile(
      atPath: path, contents: Data("#!/bin/sh\n\(text)\n".utf8), attributes: [.posixPermissions: 0o700])
    return path
  }

  @Test("The hook gets every event in order as a line of JSON, and its output becomes that of the command.")
  func order() async throws {
    try await withIMCTL { imctl in
      let events = (1...20).map { Self.presence($0, "status \($0)") }
      let agent = try Self.agent(imctl, events, then: .close)
      let result = try await imctl.run("watch", "--events", "presence", "--exec", "cat")
      // The agent has ended; what had come before was handed over.
      #expect(result.status == 69)
      #expect(try result.objects(Event.self) == events)
      agent.end()
    }
  }

  @Test(
    "Text from a peer reaches the hook only inside one line of JSON, not as a shell word or an argument.")
  func inert() async throws {
    try await withIMCTL { imctl in
      let trap = imctl.home + "/trap"
      let bodies = [
        "$(touch \(trap))", "`touch \(trap)`", "'; touch \(trap); '", "\"; touch \(trap); \"",
        "a\ntouch \(trap)\n",
        "-rf /", "../../etc/passwd", "\u{1b}]0;x\u{7}", "%s%n", "&& touch \(trap)", "| touch \(trap)",
      ]
      let events = bodies.enumerated().map { Self.presence(Int64($0.offset + 1), $0.element) }
      let agent = try Self.agent(imctl, events, then: .close)
      let hook = script(imctl, #"printf '%s ' "$#"; wc -l | tr -d '\n'; echo "$@""#)
      let result = try await imctl.run("watch", "--exec", hook, "-x", "$(id)")
      #expect(result.lines == bodies.map { _ in "2 1-x $(id)" })
      #expect(!FileManager.default.fileExists(atPath: trap))
      agent.end()
    }
  }

  @Test("A hook that is given as one word is split into words without a shell.")
  func words() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, [Self.presence(1, "x")], then: .close)
      let result = try await imctl.run("watch", "--exec", "printf '%s|' 'a b' $HOME ; x")
      #expect(result.output == "a b|$HOME|;|x|")
      for bad in ["", "'a"] {
        let refused = try await imctl.run("watch", "--exec", bad)
        #expect((refused.output, refused.status) == ("", 64))
      }
      agent.end()
    }
  }

  @Test(
    "The exit status of the hook is only shown with -v, but a hook that cannot be run is always reported."
  )
  func statuses() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, (1...2).map { Self.presence($0, "x") }, then: .close)
      let hook = script(imctl, "exit 3")
      let quiet = try await imctl.run("watch", "--exec", hook)
      #expect(!quiet.errors.contains("exit status"))
      let told = try await imctl.run("watch", "-v", "--exec", hook)
      #expect(told.errors.split(separator: "\n").count { $0 == "imctl: \(hook): exit status 3" } == 2)
      let missing = try await imctl.run("watch", "--exec", "/nowhere/at/all")
      #expect(missing.errors.split(separator: "\n").count { $0.hasPrefix("imctl: /nowhere/at/all: ") } == 2)
      agent.end()
    }
  }

  @Test("A hook that hangs is killed with all its child processes, and the next event gets a new hook.")
  func hanging() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, (1...2).map { Self.presence($0, "x") }, then: .close)
      let hook = script(imctl, "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000")
      let result = try await imctl.run("watch", "--exec-timeout", "2", "--exec", hook)
      #expect(result.status == 69)
      let children = result.lines.compactMap(Int32.init)
      #expect(children.count == 2)
      for child in children { try await eventually("the end of \(child)") { kill(child, 0) != 0 } }
      #expect(result.errors.split(separator: "\n").count { $0.contains("it took too long") } == 2)
      agent.end()
    }
  }

  @Test("A hook that is slower than the events gets one gap event in place of the omitted events.")
  func slow() async throws {
    try await withIMCTL { imctl in
      let events = (1...1100).map { Self.presence(Int64($0), "x") }
      let agent = try Self.agent(imctl, events, then: .waitForClose)
      // The first run waits until every event has come, which the warning tells.
      let gate = imctl.home + "/gate"
      let hook = script(
        imctl,
        """
        if [ -e \(gate) ]; then read -r line; case $line in *'"event":"gap"'*) echo gap;; esac; exit; fi
        while [ ! -e \(gate) ]; do sleep 0.05; done
        """
      )
      let watch = try await imctl.start(["watch", "--exec", hook])
      try await watch.errors.contains("slower than the events")
      _ = FileManager.default.createFile(atPath: gate, contents: Data())
      // A thousand runs are before it.
      try await watch.output.contains("gap", within: .seconds(120))
      watch.send(SIGINT)
      #expect(try await watch.ended(within: .seconds(90)) == .exited(130))
      agent.end()
    }
  }

  @Test("SIGINT ends the running hook, and the command reports how many events were not handed over.")
  func interrupted() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, (1...4).map { Self.presence($0, "x") }, then: .waitForClose)
      let hook = script(imctl, "echo $$; exec sleep 1000")
      let watch = try await imctl.start(["watch", "--exec", hook])
      try await eventually("its start") { watch.output.lines.count == 1 }
      let pid = try #require(watch.output.lines.first.flatMap { Int32($0) })
      watch.send(SIGINT)
      #expect(try await watch.ended(within: .seconds(90)) == .exited(130))
      try await eventually("its end") { kill(pid, 0) != 0 }
      #expect(watch.errors.text.contains("3 events were not passed to it"))
      agent.end()
    }
  }
}
