import FoundationEssentials
import TestSupport
import Testing

@testable import AgentProtocol

@Suite("The command line")
struct CommandLineTests {
  @Test(
    "An unknown command is refused, and the error suggests the most similar command.",
    arguments: [
      (["statsu"], "`statsu`: did you mean `status`?"), (["stat"], "`stat`: did you mean `status`?"),
      (["devices", "lst"], "`devices lst`: did you mean `devices list`?"),
      (["kick"], "`kick`: did you mean `devices kick`?"),
      (["help", "acount"], "`acount`: did you mean `account`?"),
      (["devices", "", "x"], "`devices `)"), (["wholly-unlike-anything"], "`wholly-unlike-anything`)"),
    ])
  func nearest(arguments: [String], told: String) async throws {
    try await withIMCTL { imctl in
      let text = try await imctl.run(arguments)
      #expect((text.output, text.status) == ("", 64))
      #expect(
        text.errors.hasPrefix("imctl: invalid parameter (there is no command " + told), "\(text.errors)")
      #expect(text.errors.contains("` lists the commands.\n"))
      let json = try await imctl.run(arguments + ["--json"])
      #expect((json.output, json.status) == ("", 64))
      #expect(json.errors.hasPrefix(#"{"error":{"#) && json.errors.contains("there is no command"))
    }
  }

  @Test(
    "An unknown option is refused, and the error suggests the most similar option in the user's language.")
  func option() async throws {
    try await withIMCTL { imctl in
      let english = try await imctl.run("status", "--jso")
      #expect(english.status == 64)
      #expect(
        english.errors.hasPrefix(
          "imctl: Unknown option '--jso'. Did you mean '--json'?\nUsage: imctl status "))
      let chinese = try await imctl.run(["status", "--jso"], environment: ["LANG": "zh_CN.UTF-8"])
      #expect(chinese.errors.hasPrefix("imctl: 未知选项“--jso”。您是指“--json”吗？\n用法：imctl status "))
      let value = try await imctl.run(["presence", "bsuy"], environment: ["LANG": "zh_CN.UTF-8"])
      #expect(value.errors.hasPrefix("imctl: “bsuy”不是“<SHOW>”的有效值。可用的值：\n  - online\n"), "\(value.errors)")
    }
  }

  @Test(
    "The aliases ls, rm and version work, except where version is a command of its own.")
  func aliases() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let list = try await imctl.run("account", "list").output
      #expect(list.split(separator: "\n").count == 2)
      #expect(try await imctl.run("account", "ls").output == list)
      #expect(try await imctl.run("account", "rm", "bob@example.org").status == 0)
      #expect(try await imctl.run("account", "ls").lines.count == 1)
      let version = try await imctl.run("--version").output
      #expect(try await imctl.run("version").output == version)
      #expect(try await imctl.run("account", "version").output == version)
      #expect(try await imctl.run("help", "server", "version").output.contains("Show the server's software."))
    }
  }

  @Test("The hint about a wrong argument names the command that it was given to.")
  func hint() async throws {
    try await withIMCTL { imctl in
      let text = try await imctl.run("account", "use", "x@@y")
      #expect(text.errors.hasSuffix("\n  `imctl help account use` shows what the command accepts.\n"))
      let json = try await imctl.run("account", "use", "x@@y", "--json")
      #expect(json.errors.contains(#""hint":"`imctl help account use` shows"#))
    }
  }

  /// The commands that hints name. Behind some there are words of the sentence.
  private static var commandsInHints: Set<[String]> {
    let hints =
      FailureTable.rows.flatMap { row in Language.allCases.map { row.text($0).hint } }
      + FailureAdvice.all.flatMap { [$0.hint.english, $0.hint.chinese] }
    var commands: Set<[String]> = []
    for hint in hints {
      for part in hint.split(separator: "imctl ", omittingEmptySubsequences: false).dropFirst() {
        let words = part.split { $0 == " " || $0 == ";" || $0 == "`" || $0 == "；" }
        let command = words.prefix { $0.allSatisfy { ("a"..."z").contains($0) } }.map(String.init)
        let isAlone = ["help", "login", "logout", "history", "watch"].contains(command.first ?? "")
        commands.insert(isAlone ? Array(command.prefix(1)) : command)
      }
    }
    return commands
  }

  @Test(
    "Every command that a hint mentions exists.",
    arguments: commandsInHints.sorted { $0.joined() < $1.joined() }
  )
  func commandOfHint(command: [String]) async throws {
    try await withIMCTL { imctl in
      let help = try await imctl.run(["help"] + command)
      #expect(help.status == 0, "\(help.errors)")
    }
  }

  @Test("A command whose standard output is closed fails with exit status 73.")
  func closedOutput() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let shell = try await ChildProcess(
        "/bin/sh", ["-c", "exec \"$0\" account list >&-", IMCTL.executable],
        environment: [
          "XDG_CONFIG_HOME": imctl.home + "/.config", "XDG_STATE_HOME": imctl.home + "/.local/state",
          "LC_ALL": "C.UTF-8",
        ])
      #expect(try await shell.ended(within: .seconds(90)) == .exited(73))
      #expect(shell.errors.text.hasPrefix("imctl: the output could not be written (Bad file descriptor)\n"))
    }
  }

  @Test("On a terminal, an empty list is explained, and in a pipe nothing is printed.")
  func emptyList() async throws {
    try await withIMCTL { imctl in
      for (list, told) in [
        (["account", "list"], "imctl: no account is stored: imctl login JID"),
        (["token", "list"], "imctl: no tokens are stored: imctl login JID --store token"),
      ] {
        let piped = try await imctl.run(list)
        #expect((piped.output, piped.errors, piped.status) == ("", "", 0))
        let child = try await imctl.start(list, terminal: true)
        #expect(try await child.ended(within: .seconds(90)) == .exited(0))
        #expect(child.output.text.contains(told), "\(child.output.text)")
        let quiet = try await imctl.start(list + ["-q"], terminal: true)
        #expect(try await quiet.ended(within: .seconds(90)) == .exited(0))
        #expect(!quiet.output.text.contains("imctl:"))
      }
    }
  }

  private struct Dump: Decodable {
    struct Command: Decodable {
      var commandName: String
      var discussion: String?
      var subcommands: [Command]?
    }
    var command: Command
  }

  @Test("The paragraphs of the help contain no line breaks, so that they can be fitted to the terminal.")
  func paragraphs() async throws {
    try await withIMCTL { imctl in
      let dump = try await imctl.run("--experimental-dump-help").output
      var count = 0
      func visit(_ command: Dump.Command) {
        count += 1
        let lines = (command.discussion ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        for (line, next) in zip(lines, lines.dropFirst()) where !line.isEmpty && !next.isEmpty {
          // A list or an example stands apart.
          let isApart = next.hasPrefix(" ") || next.hasPrefix("-") || line.hasPrefix(" ")
          #expect(isApart, "\(command.commandName): \(line) / \(next)")
        }
        for subcommand in command.subcommands ?? [] { visit(subcommand) }
      }
      visit(try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command)
      #expect(count > 50)
    }
  }
}
