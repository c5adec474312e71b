import AgentProtocol
import Glibc
import TestSupport
import Testing
import XMPPSASL

@testable import AgentLogin
@testable import UserCommand

@Suite(.timeLimit(.minutes(4))) struct CredentialCommandTests {
  @Test(
    "A credential command is split into words as a shell would, but nothing is expanded.",
    arguments: [
      ("pass show xmpp", ["pass", "show", "xmpp"]),
      ("  a\t b\n c ", ["a", "b", "c"]),
      ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
      ("a'b'\"c\"d", ["abcd"]),
      ("a '' \"\"", ["a", "", ""]),
      (#"a\ b \\ \' \""#, ["a b", #"\"#, "'", "\""]),
      (#""a\"b\\c\$d\`e\nf""#, [#"a"b\c$d`e\nf"#]),
      (#"'a\b'"#, [#"a\b"#]),
      ("a\\\nb \"c\\\nd\"", ["ab", "cd"]),
      (
        "echo $HOME ~ * $(id) `id` ; | & > x # y",
        ["echo", "$HOME", "~", "*", "$(id)", "`id`", ";", "|", "&", ">", "x", "#", "y"]
      ),
      ("é '🙂 é'", ["é", "🙂 é"]),
    ])
  func words(line: String, words: [String]) throws {
    #expect(try CommandWords.split(line) == words)
  }

  @Test(
    "A command line that cannot be split into words is a usage error.",
    arguments: ["", "  ", "'a", "\"a", "a\\", "\"a\\"])
  func unsplittable(line: String) {
    do {
      _ = try CredentialCommand(line)
      Issue.record("accepted \(line)")
    } catch {
      #expect(error.name == .credentialSourceFailed && error.exit == 64)
    }
  }

  @Test(
    "The first line of a command's output is the secret.",
    arguments: [
      ("printf 'hunter2'", "hunter2"), ("printf 'hunter2\\n'", "hunter2"),
      ("printf 'hunter2\\r\\n'", "hunter2"),
      ("printf ' a b \\nlogin: x\\n'", " a b "), ("sh -c 'echo noise >&2; echo s'", "s"),
      ("/bin/echo é", "é"), ("sh -c 'yes noise | head -c 1000000 >&2; echo s'", "s"),
    ])
  func secret(line: String, secret: String) async throws {
    #expect(try await CredentialCommand(line).secret() == Secret(secret))
  }

  @Test("The output of a command that ends at once is read completely.")
  func quick() async throws {
    let command = try CredentialCommand("printf hunter2")
    for _ in 0..<100 { #expect(try await command.secret() == Secret("hunter2")) }
  }

  private func failure(_ line: String, timeLimit: Duration = .seconds(60)) async -> Failure? {
    do {
      let secret = try await CredentialCommand(line, timeLimit: timeLimit).secret()
      Issue.record("\(line) gave \(secret)")
      return nil
    } catch {
      #expect(error.name == .credentialSourceFailed)
      return error
    }
  }

  @Test(
    "A credential command that cannot be run leads to exit status 64.",
    arguments: ["/no/such/command", "no-such-command-here x", "/etc/passwd"])
  func cannotBeRun(line: String) async {
    #expect(await failure(line)?.exit == 64)
  }

  @Test(
    "A credential command without a secret leads to exit status 77, and its last line of stderr is reported."
  )
  func givesNothing() async {
    let refused = await failure("sh -c 'echo one >&2; echo gpg: no key >&2; exit 3'")
    #expect(refused?.exit == 77)
    #expect(refused?.message.contains("gpg: no key") == true && refused?.message.contains("one") == false)
    #expect(await failure("true")?.exit == 77)
    #expect(await failure("printf '\\n'")?.exit == 77)
    #expect(await failure("printf '\\377\\n'")?.exit == 77)
    #expect(await failure("sh -c 'kill -9 $$'")?.detail?.description == "sh: signal 9")
    #expect(refused?.detail?.description == "sh: exit status 3: gpg: no key")
  }

  @Test("The error of a failed credential command does not show its standard output.")
  func outputIsSecret() async {
    let failed = await failure("sh -c 'echo hunter2; exit 1'")
    #expect(failed.map { "\($0)\($0.message)".contains("hunter2") } == false)
  }

  @Test("A credential command fails if its output is ten megabytes long or never ends.")
  func tooMuch() async {
    #expect(await failure("head -c 10000000 /dev/zero")?.exit == 77)
    #expect(await failure("yes")?.exit == 77)
    #expect(await failure("sh -c 'yes & yes >&2'")?.exit == 77)
  }

  @Test("A credential command that exceeds its time limit is killed.")
  func timeLimit() async {
    let failed = await failure("sleep 1000", timeLimit: .milliseconds(123))
    #expect(failed?.exit == 77 && failed?.detail?.description == "sleep: no answer within 0.1 s")
    #expect(await failure("sh -c 'echo hunter2; exec sleep 1000'", timeLimit: .milliseconds(100))?.exit == 77)
  }

  @Test("A cancelled credential command is killed with all of its processes, even if one ignores SIGTERM.")
  func processGroup() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.path + "/pids"
    write(
      "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $! $$ > \(file).new\nmv \(file).new \(file)\nwait\nsleep 1000\n",
      to: directory.path + "/command", mode: 0o700)
    let command = try CredentialCommand(directory.path + "/command")
    let task = Task { try await command.secret() }
    try await eventually { contents(file) != nil }
    task.cancel()
    await #expect(throws: Failure.self) { try await task.value }
    let pids = try #require(contents(file)).split(whereSeparator: \.isWhitespace)
    #expect(pids.count == 2)
    for pid in pids {
      // Gone, or a zombie that nobody has waited for yet.
      try await eventually {
        let status = contents("/proc/\(pid)/stat")
        return status?.split(separator: ") ").last?.hasPrefix("Z") ?? true
      }
    }
  }

  @Test("A credential command has no terminal and no standard input.")
  func noTerminal() async throws {
    #expect(try await CredentialCommand("sh -c 'cat; test -t 0 || echo none'").secret() == Secret("none"))
    #expect(
      try await CredentialCommand("sh -c '(: < /dev/tty) 2>/dev/null || echo none'").secret()
        == Secret("none"))
  }

  @Test("A cancelled login ends its credential command.")
  func cancelled() async throws {
    let task = Task { try await CredentialCommand("sleep 1000").secret() }
    task.cancel()
    await #expect(throws: Failure.self) { try await task.value }
  }
}
