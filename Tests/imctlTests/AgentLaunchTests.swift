import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Agents that commands start")
struct AgentLaunchTests {
  private struct State: Decodable {
    var running: Bool
    var pid: Int32?
    var version: String?
    var clients: Int?
  }

  private struct Stored: Decodable {
    var isLogin: Bool
  }

  private func state(_ imctl: IMCTL) async throws -> State {
    try #require(try await imctl.run("agent", "status", "--json").objects(State.self).first)
  }

  /// Commands that start an agent where none runs, and keep it from ending by itself.
  private func watchers(_ imctl: IMCTL, _ count: Int) async throws -> (children: [ChildProcess], pid: Int32) {
    var children: [ChildProcess] = []
    for _ in 0..<count { children.append(try await imctl.start(["watch"])) }
    var pid: Int32?
    try await eventually("the connection of \(count) watchers") {
      let agent = try await imctl.runningAgent()
      pid = agent.map { Int32($0.pid) }
      return agent?.clients == count + 1
    }
    return (children, try #require(pid))
  }

  @Test(
    "Commands that need an agent at the same time share one, and agent stop ends the agent and the commands.")
  func together() async throws {
    try await withIMCTL { imctl in
      let (children, pid) = try await watchers(imctl, 4)
      let state = try await state(imctl)
      #expect(state.version == Version.current)
      #expect(state.pid == pid)
      #expect(try await imctl.run("agent", "start").output.contains("pid \(pid),"))
      #expect(try await imctl.run("agent", "stop").status == 0)
      for child in children { #expect(try await child.ended(within: .seconds(90)) == .exited(69)) }
      // Nothing went wrong: neither the agents that came late nor the looks at the socket are worth a line.
      let log = try await imctl.run("agent", "log").output
      #expect(!log.contains("already running") && !log.contains("refused") && !log.contains("alreadyRunning"))
      #expect(try await self.state(imctl).running == false)
      try await eventually("the end of the process") { try await !imctl.processes().contains(pid) }
    }
  }

  @Test("A started agent has a session of its own, and keeps none of the command's files open.")
  func detached() async throws {
    try await withIMCTL { imctl in
      let kept = imctl.home + "/kept"
      _ = FileManager.default.createFile(atPath: kept, contents: Data())
      let shell = try await ChildProcess(
        "/bin/sh", ["-c", "exec 9<\"$1\"; exec \"$0\" watch", IMCTL.executable, kept],
        environment: [
          "HOME": imctl.home, "XDG_CONFIG_HOME": imctl.home + "/.config",
          "XDG_STATE_HOME": imctl.home + "/.local/state",
        ])
      try await eventually("the start of an agent") { try await imctl.runningAgent()?.clients == 2 }
      let pid = try #require(try await state(imctl).pid)
      #expect(getsid(pid) == pid)
      let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
      }
      #expect(!files.isEmpty)
      #expect(!files.contains(kept))
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") == "/")
      // Its output ends with it, although the agent lives on.
      shell.send(SIGINT)
      #expect(try await shell.ended(within: .seconds(90)) == .exited(130))
    }
  }

  @Test("A second agent run is refused, and agent restart replaces the first agent.")
  func restart() async throws {
    try await withIMCTL { imctl in
      let (_, first) = try await watchers(imctl, 1)
      let second = try await imctl.run("agent", "run", "--json")
      #expect(second.status == 75)
      #expect(second.errors.contains(#""name":"alreadyRunning""#))
      let restarted = try await imctl.run("agent", "restart", "--json")
      #expect(restarted.status == 0)
      let later = try #require(try restarted.objects(State.self).first)
      #expect(later.running)
      #expect(later.pid != first)
    }
  }

  @Test("The leftover socket of a killed agent does not prevent the next agent from starting.")
  func killed() async throws {
    try await withIMCTL { imctl in
      let (children, pid) = try await watchers(imctl, 1)
      kill(pid, SIGKILL)
      #expect(try await children.first?.ended(within: .seconds(90)) == .exited(69))
      #expect(FileManager.default.fileExists(atPath: imctl.home + "/.local/state/imctl/agent.sock"))
      #expect(try await watchers(imctl, 1).pid != pid)
    }
  }

  @Test(
    "After a crash, commands that start no agent report it, and the next command that may start one does so.")
  func crashed() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.unreachable, in: imctl)
      let (_, pid) = try await watchers(imctl, 1)
      let silent = try await imctl.run("history")
      #expect((silent.errors, silent.status) == ("", 0))
      kill(pid, SIGKILL)
      try await eventually("the end of the process") { try await !imctl.processes().contains(pid) }
      // A killed process loses its environment, by which it is found, a moment before its lock.
      let lock = open(imctl.home + "/.local/state/imctl/agent.lock", O_RDONLY | O_CLOEXEC)
      try await eventually("the release of the lock") { flock(lock, LOCK_SH | LOCK_NB) == 0 }
      close(lock)
      for words in [["history"], ["account", "list"], ["status"], ["whoami"], ["agent", "status"]] {
        let result = try await imctl.run(words)
        #expect(result.errors.contains("ended unexpectedly"), "\(words)")
        #expect(result.errors.contains("imctl agent start"), "\(words)")
      }
      #expect(try await imctl.processes().isEmpty)
      _ = try await watchers(imctl, 1)
      #expect(try await imctl.run("account", "list").errors == "")
    }
  }

  @Test("The command logout logs the account out without an agent after the agent has crashed.")
  func loggedOutAfterCrash() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.unreachable, in: imctl)
      let (_, pid) = try await watchers(imctl, 1)
      kill(pid, SIGKILL)
      try await eventually("the end of the process") { try await !imctl.processes().contains(pid) }
      #expect(try await imctl.run("logout").status == 0)
      #expect(try await imctl.processes().isEmpty)
      let stored = try await imctl.run("account", "list", "--json").objects(Stored.self)
      #expect(stored.map(\.isLogin) == [false])
      // Nobody is to be online any more: there is nothing to remark.
      #expect(try await imctl.run("account", "list").errors == "")
    }
  }

  @Test("No agent is started if the state directory is a symbolic link.")
  func refusedDirectory() async throws {
    try await withIMCTL { imctl in
      try PrivateDirectory.ensure(imctl.home + "/.local/state")
      try PrivateDirectory.ensure(imctl.home + "/elsewhere")
      symlink(imctl.home + "/elsewhere", imctl.home + "/.local/state/imctl")
      let result = try await imctl.run("agent", "start", "--json")
      #expect(result.status == 73)
      #expect(result.errors.contains("a symbolic link"))
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("An agent that cannot open its store ends with 73 and the cause, without older lines of the log.")
  func unusableStore() async throws {
    try await withIMCTL { imctl in
      let state = imctl.home + "/.local/state/imctl"
      try PrivateDirectory.ensure(state)
      try PrivateDirectory.ensure(state + "/imctl.sqlite")
      _ = FileManager.default.createFile(atPath: state + "/agent.log", contents: Data("old\n".utf8))
      let result = try await imctl.run("agent", "start", "--json")
      #expect(result.status == 73)
      #expect(result.errors.contains(#""name":"databaseError""#))
      #expect(result.errors.contains("imctl.sqlite: Is a directory"))
      rmdir(state + "/imctl.sqlite")
      unlink(state + "/agent.log")
      symlink("/dev/null", state + "/agent.log")
      let log = try await imctl.run("agent", "start")
      #expect(log.status == 73)
      #expect(log.errors.contains("agent.log: Too many levels of symbolic links"))
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("The command login --foreground replaces an idle agent, and fails if the agent is busy.")
  func foreground() async throws {
    try await withIMCTL { imctl in
      let login = [
        "login", "alice@localhost", "--password-stdin", "--host", "127.0.0.1", "--port", "1", "--foreground",
      ]
      #expect(try await imctl.run("agent", "start").status == 0)
      let idle = try await imctl.run(login, input: "geheim")
      #expect(idle.status == 69)
      #expect(idle.errors.contains("refuses the connection"))
      #expect(try await state(imctl).running == false)
      let (_, pid) = try await watchers(imctl, 1)
      let busy = try await imctl.run(login, input: "geheim")
      #expect(busy.status == 75)
      #expect(busy.errors.contains("already running"))
      #expect(try await state(imctl).pid == pid)
    }
  }

  @Test("The command agent run ends by itself after the time of --timeout.")
  func runTimeout() async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run("agent", "run", "--timeout", "3")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
    }
  }

  @Test("The presence command reports that no account is stored, and still runs its COMMAND.")
  func nothingStored() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("presence", "away").status == 78)
      let held = try await imctl.run("presence", "away", "--", "sh", "-c", "echo ran; exit 3")
      #expect((held.output, held.status) == ("ran\n", 3))
      #expect(held.errors.hasPrefix("imctl: local store: no account has been set up\n"))
    }
  }

  @Test("The presence command stores the presence of an account that is offline, and runs its COMMAND.")
  func stored() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(
        #"{"version":1,"default":"a@localhost","accounts":[{"account":"a@localhost","domain":"localhost"}]}"#,
        in: imctl)
      let held = try await imctl.run("presence", "dnd", "deploying", "--", "sh", "-c", "echo ran; exit 3")
      #expect((held.output, held.status) == ("ran\n", 3))
      #expect(held.errors == "imctl: not online; the presence is held after a login while the command runs\n")
      let set = try await imctl.run("presence", "away", "lunch", "--json")
      #expect(set.output == #"{"applied":false,"priority":0,"show":"away","status":"lunch"}"# + "\n")
      #expect(try await imctl.run("agent", "stop").status == 0)
      #expect(try await imctl.run("presence").output == "away \"lunch\" (not applied)\n")
      #expect(try await imctl.run("status").status == 1)
      #expect(try await imctl.run("logout").status == 67)
    }
  }
}
