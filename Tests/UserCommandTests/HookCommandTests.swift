import Glibc
import TestSupport
import Testing

@testable import UserCommand

@Suite(.timeLimit(.minutes(4))) struct HookCommandTests {
  private let directory: TemporaryDirectory
  private var output: String { directory.path + "/output" }

  init() throws {
    directory = try TemporaryDirectory()
    // As the agent does, and `watch`.
    signal(SIGPIPE, SIG_IGN)
  }

  private func run(_ script: String, limit: Duration = .seconds(60), input: String = "{}\n") async
    -> HookCommand.End
  {
    await HookCommand(words: ["/bin/sh", "-c", script, "hook", output], timeLimit: limit).run(input: input)
  }

  @Test("A hook receives the whole event on standard input and no argument from it.")
  func input() async {
    let hostile = #"{"body":"$(id) `id` 'x' \"y\" ; rm -rf / \n-rf"}"# + "\n"
    #expect(await run(#"cat > "$1"; echo "$#" >> "$1""#, input: hostile) == .exited(0))
    #expect(contents(output) == hostile + "1\n")
  }

  @Test("The exit status of a hook, or the signal that ended it, is reported.")
  func ends() async {
    #expect(await run("exit 3") == .exited(3))
    #expect(await run("kill -TERM $$") == .signaled(SIGTERM))
    let missing = HookCommand(words: ["no-such-command-of-imctl"], timeLimit: .seconds(60))
    #expect(await missing.run(input: "") == .notRun("no such command"))
    let directory = HookCommand(words: [directory.path], timeLimit: .seconds(60))
    guard case .notRun = await directory.run(input: "") else {
      Issue.record("a directory was run")
      return
    }
  }

  @Test("A hook may leave its input unread, however long the input is.")
  func unread() async {
    let long = String(repeating: "x", count: 1 << 20)
    #expect(await run("exit 0", input: long) == .exited(0))
    #expect(await run("exec <&-; exit 4", input: long) == .exited(4))
  }

  @Test("A hook runs in a session of its own with the default action for SIGPIPE.")
  func session() async {
    #expect(await run(#"ps -o sid= -p $$ | tr -d ' ' > "$1"; echo $$ >> "$1""#) == .exited(0))
    let lines = contents(output)?.split(separator: "\n") ?? []
    #expect(lines.count == 2 && lines.first == lines.last)
    #expect(await run(#"grep SigIgn /proc/self/status > "$1""#) == .exited(0))
    let ignored = contents(output)?.split(whereSeparator: \.isWhitespace).last.flatMap {
      UInt64($0, radix: 16)
    }
    #expect(ignored.map { $0 & (1 << (UInt64(SIGPIPE) - 1)) } == 0)
  }

  @Test(
    "A hook that exceeds its time limit is killed with all of its processes, even one that ignores SIGTERM."
  )
  func timeLimit() async throws {
    let stubborn =
      #"trap '' TERM; (trap '' TERM; echo $(exec sh -c 'echo $PPID') > "$1"; exec sleep 1000) & wait; sleep 1000"#
    #expect(await run(stubborn, limit: .seconds(3)) == .timedOut)
    let child = try #require(contents(output).flatMap { Int32($0.dropLast()) })
    try await eventually { kill(child, 0) != 0 }
    // The leader obeys, its child does not.
    let left = #"(trap '' TERM; echo $(exec sh -c 'echo $PPID') > "$1"; exec sleep 1000) & exec sleep 1000"#
    #expect(await run(left, limit: .seconds(3)) == .timedOut)
    let other = try #require(contents(output).flatMap { Int32($0.dropLast()) })
    try await eventually { kill(other, 0) != 0 }
  }

  @Test("A cancelled hook is killed.")
  func cancelled() async throws {
    let running = Task { await run(#"echo $$ > "$1"; exec sleep 1000"#) }
    try await eventually { contents(output)?.isEmpty == false }
    running.cancel()
    #expect(await running.value == .cancelled)
    let pid = try #require(contents(output).flatMap { Int32($0.dropLast()) })
    try await eventually { kill(pid, 0) != 0 }
  }
}
