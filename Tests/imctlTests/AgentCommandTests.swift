import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl agent and common behaviour of all commands")
struct AgentCommandTests {
  @Test("The command agent status tells whether an agent runs, and starts none.")
  func status() async throws {
    try await withIMCTL { imctl in
      let none = try await imctl.run("agent", "status")
      #expect((none.output, none.errors, none.status) == ("not running\n", "", 1))
      let json = try await imctl.run("agent", "status", "--json")
      #expect((json.output, json.errors, json.status) == (#"{"running":false}"# + "\n", "", 1))
      let agent = try FakeAgent(imctl) { _ in [] }
      #expect(
        try await imctl.run("agent", "status").output
          == "running, pid 4711, version \(Version.current), since 2025-11-21 02:42, "
          + "1 of 2 accounts online\n")
      #expect(
        try await imctl.run("agent", "status", "--json").output
          == #"{"accounts":2,"clients":1,"online":1,"pid":4711,"running":true,"#
          + #""started":"2025-11-21T02:42:13.123Z","version":"\#(Version.current)"}"# + "\n")
      agent.end()
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test(
    "The command agent start leaves a running agent alone, and agent stop succeeds if no agent is running.")
  func startAndStop() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "agent.stop" ? [.result(EmptyObject()), .close] : []
      }
      #expect(try await imctl.run("agent", "start").status == 0)
      #expect(agent.methods == [])
      let stopped = try await imctl.run("agent", "stop")
      #expect((stopped.output, stopped.errors, stopped.status) == ("", "", 0))
      #expect(agent.methods == ["agent.stop"])
      agent.end()
      let none = try await imctl.run("agent", "stop")
      #expect((none.output, none.errors, none.status) == ("", "imctl: no agent is running\n", 0))
    }
  }

  @Test("The command agent log prints the log with control characters escaped.")
  func log() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("agent", "log").output == "")
      let directory = imctl.home + "/.local/state/imctl"
      try PrivateDirectory.ensure(directory)
      _ = FileManager.default.createFile(
        atPath: directory + "/agent.log", contents: Data("one\ntwo \u{1b}[31m\nthree\n".utf8))
      #expect(try await imctl.run("agent", "log").output == "one\ntwo \\x1b[31m\nthree\n")
      #expect(try await imctl.run("agent", "log", "--lines", "1").output == "three\n")
      #expect(try await imctl.run("agent", "log", "--lines", "-1").status == 64)
      #expect(
        try await imctl.run("agent", "log", "-l", "1", "--json").output == #"{"line":"three"}"# + "\n")
      unlink(directory + "/agent.log")
      symlink("/dev/null", directory + "/agent.log")
      let link = try await imctl.run("agent", "log")
      #expect((link.output, link.status) == ("", 73))
      #expect(link.errors.contains("agent.log: a symbolic link"))
      unlink(directory + "/agent.log")
      try PrivateDirectory.ensure(directory + "/agent.log")
      #expect(try await imctl.run("agent", "log").status == 73)
    }
  }

  @Test(
    "The option --timeout limits every agent command.", arguments: ["start", "stop", "restart", "status"])
  func timeout(command: String) async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { _ in [.waitForClose] }
      let result = try await imctl.run("agent", command, "--timeout", "0.2")
      #expect((result.output, result.status) == ("", 75))
      agent.end()
    }
  }

  @Test("A leftover socket without a process behind it counts as no agent.")
  func staleSocket() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { _ in [] }
      rename(agent.socketPath, agent.socketPath + ".kept")
      agent.end()
      rename(agent.socketPath + ".kept", agent.socketPath)
      #expect(FileManager.default.fileExists(atPath: agent.socketPath))
      #expect(try await imctl.run("agent", "status").output == "not running\n")
    }
  }

  @Test("Help, version and completion scripts go to standard output, with exit status 0.")
  func help() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("--version").output == "imctl \(Version.current)\n")
      for arguments in [
        ["--help"], ["help"], ["help", "login"], ["help", "agent", "log"], ["login", "--help"], ["agent"],
        ["account", "-h"],
      ] {
        let result = try await imctl.run(arguments)
        #expect((result.errors, result.status) == ("", 0))
        #expect(result.output.contains("USAGE: imctl"))
      }
      for (shell, mark) in [
        ("bash", "complete -o"), ("zsh", "#compdef imctl"), ("fish", "complete -c 'imctl'"),
      ] {
        let result = try await imctl.run("--generate-completion-script", shell)
        #expect((result.errors, result.status) == ("", 0))
        #expect(result.output.contains(mark))
        #expect(result.output.contains("password-command"))
      }
      #expect(try await imctl.run("--help").output.contains("--password ") == false)
    }
  }

  @Test(
    "An unknown subcommand ends with exit status 64, and writes to standard error only.",
    arguments: [
      ["nonsense"], ["--nonsense"], ["agent", "nonsense"], ["status", "extra"], ["account", "use"],
      ["help", "nonsense"], ["help", "agent", "nonsense"],
    ])
  func usage(arguments: [String]) async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run(arguments)
      #expect((result.output, result.status) == ("", 64))
      #expect(result.errors.hasPrefix("imctl: "))
    }
  }

  @Test(
    "A usage error is reported in the user's language, and a negative time is reported as an invalid value.")
  func usageLanguage() async throws {
    try await withIMCTL { imctl in
      let port = try await imctl.run(["login", "a@b", "--port", "0"], environment: ["LANG": "zh_CN.UTF-8"])
      #expect(port.errors.hasPrefix("imctl: 端口 0 不在 1 到 65535 之间。\n用法：imctl login "))
      #expect(port.errors.hasSuffix("\n  详见 'imctl login --help'。\n"))
      let timeout = try await imctl.run("status", "--timeout", "-1")
      #expect(timeout.errors.hasPrefix("imctl: The value '-1' is invalid for '--timeout <seconds>'\n"))
      let duration = try await imctl.run("presence", "away", "--for", "-1s")
      #expect(duration.errors.hasPrefix("imctl: The value '-1s' is invalid for '--for <duration>'\n"))
    }
  }

  @Test("A command whose output cannot be written ends with exit status 73.")
  func fullDisk() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      for option in ["-v", "--json"] {
        let shell = try await ChildProcess(
          "/bin/sh", ["-c", "exec \"$0\" account list \"$1\" > /dev/full", IMCTL.executable, option],
          environment: [
            "XDG_CONFIG_HOME": imctl.home + "/.config", "XDG_STATE_HOME": imctl.home + "/.local/state",
            "LC_ALL": "C.UTF-8",
          ])
        #expect(try await shell.ended(within: .seconds(90)) == .exited(73))
        #expect(shell.errors.text.contains("the output could not be written (No space left on device)"))
        #expect(!shell.errors.text.contains("local store"))
      }
    }
  }

  @Test("A command whose output goes to a closed pipe ends without a message.")
  func brokenPipe() async throws {
    try await withIMCTL { imctl in
      let shell = try await ChildProcess(
        "/bin/sh", ["-c", "trap '' PIPE; { \"$0\" --help; echo $? >&2; } | true", IMCTL.executable])
      #expect(try await shell.ended(within: .seconds(90)) == .exited(0))
      #expect(["141\n", "0\n"].contains(shell.errors.text))
    }
  }
}

@Suite("imctl agent states")
struct AgentStatesCommandTests {
  @Test(
    "The command agent states prints all session states as text, JSON and Graphviz, and needs no agent.")
  func states() async throws {
    try await withIMCTL { imctl in
      let text = try await imctl.run("agent", "states")
      #expect(text.status == 0 && text.errors == "")
      #expect(text.lines.filter { !$0.hasPrefix(" ") } == SessionState.allCases.map(\.rawValue))
      #expect(text.lines.contains("  bound -> loginOK"))
      let json = try await imctl.run("agent", "states", "--json")
      #expect(try json.objects(SessionLifecycle.Transition.self) == SessionLifecycle.transitions)
      let dot = try await imctl.run("agent", "states", "--dot")
      #expect(dot.output == SessionLifecycle.dot + "\n")
      #expect(try await imctl.run("agent", "states", "--dot", "--json").status == 64)
      #expect(try await imctl.run("agent", "states", "--timeout", "60").output == text.output)
      #expect(try await imctl.run("agent", "states", "--timeout", "x").status == 64)
      #expect(try await imctl.run("agent", "states", "--help").output.contains("(default: 5)"))
      #expect(try await imctl.processes().isEmpty)
    }
  }
}
