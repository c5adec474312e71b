import FoundationEssentials
import TestSupport
import Testing

@testable import imctl

@Suite("The arguments of commands that end in a text")
struct TextArgumentsTests {
  private static func sorted(_ arguments: [String], hasInput: Bool = false) throws -> [String] {
    try TextArguments(arguments, hasInput: { hasInput }).sorted
  }

  @Test(
    "The options are sorted before the recipient and the text, even if the text begins with a hyphen.",
    arguments: [
      ["send", "b@c", "hi"]: ["send", "--", "b@c", "hi"],
      ["send", "b@c", "- one\n- two", "--json"]: ["send", "--json", "--", "b@c", "- one\n- two"],
      ["send", "b@c", "--version is out"]: ["send", "--", "b@c", "--version is out"],
      ["send", "b@c", "--subject=a b", "hi"]: ["send", "--subject=a b", "--", "b@c", "hi"],
      ["send", "b@c", "--json=a b"]: ["send", "--", "b@c", "--json=a b"],
      ["send", "b@c", "--subject", "a b", "-x y"]: ["send", "--subject", "a b", "--", "b@c", "-x y"],
      ["send", "-a", "a@b", "-vv", "b@c", "-"]: ["send", "-a", "a@b", "-vv", "--", "b@c", "-"],
      ["send", "b@c", "--", "-hello"]: ["send", "--", "b@c", "-hello"],
      ["send", "--", "b@c", "--json"]: ["send", "--", "b@c", "--json"],
      ["send", "--to-file", "f", "b@c", "hi"]: ["send", "--to-file", "f", "--", "b@c", "hi"],
      ["send", "--help"]: ["send", "--help"],
      ["send", "b@c", "--", "--help"]: ["send", "--", "b@c", "--help"],
      ["send", "--nonsense"]: ["send", "--nonsense"],
      ["devices", "send", "phone", "-5 degrees"]: ["devices", "send", "--", "phone", "-5 degrees"],
      ["presence", "dnd", "--", "make", "-h"]: ["presence", "dnd", "--", "make", "-h"],
      ["history", "-hello"]: ["history", "-hello"],
    ])
  func accepted(arguments: [String], expected: [String]) throws {
    #expect(try Self.sorted(arguments) == expected)
  }

  @Test(
    "A word after the recipient is refused if it looks like an unknown option or one that reads or runs something.",
    arguments: [
      ["send", "b@c", "-hello"], ["send", "b@c", "-h"], ["send", "b@c", "--hello"],
      ["send", "b@c", "--help"], ["send", "b@c", "hi", "--help"], ["edit", "b@c", "1", "--version"],
      ["devices", "send", "phone", "-h"], ["presence", "dnd", "--help"], ["send", "b@c", "-5"],
      ["send", "b@c", "-vh"], ["send", "-hello"], ["send", "b@c", "--nonsense=x"],
      ["send", "b@c", "--to-file", "/etc/passwd"], ["send", "b@c", "--to-file=/etc/passwd"],
      ["send", "b@c", "--password-command", "id"], ["send", "b@c", "--proxy-password-command=touch x"],
      ["devices", "send", "phone", "-hello"], ["presence", "dnd", "-hello"],
      ["presence", "dnd", "- back soon"],
    ])
  func refused(arguments: [String]) {
    #expect(throws: (any Error).self) { try Self.sorted(arguments) }
  }

  @Test(
    "An error that is found before the arguments are parsed shows the usage in the user's language.",
    arguments: [
      ["send", "b@c", "-hello"], ["edit", "b@c", "1", "--help"], ["devices", "send", "phone", "-x"],
      ["presence", "dnd", "-h"],
    ])
  func usage(arguments: [String]) async throws {
    let name = "imctl " + (arguments[0] == "devices" ? "devices send" : arguments[0])
    try await withIMCTL { imctl in
      let english = try await imctl.run(arguments)
      #expect((english.output, english.status) == ("", 64))
      #expect(english.errors.contains("put `--` before it.\nUsage: \(name) "), "\(english.errors)")
      #expect(english.errors.hasSuffix("\n  See '\(name) --help' for more information.\n"))
      let parsed = try await imctl.run(["send", "b@c", ""])
      if arguments[0] == "send" {
        #expect(
          parsed.errors.split(separator: "\n").dropFirst()
            == english.errors.split(separator: "\n").dropFirst())
      }
      let chinese = try await imctl.run(arguments, environment: ["LANG": "zh_CN.UTF-8"])
      #expect(
        chinese.errors.contains("\n用法：\(name) ") && chinese.errors.hasSuffix("\n  详见 '\(name) --help'。\n"))
    }
  }

  @Test("A second recipient is not taken for the text if standard input may be the text.")
  func secondRecipient() throws {
    #expect(throws: (any Error).self) { try Self.sorted(["send", "a@x", "b@y"], hasInput: true) }
    #expect(throws: (any Error).self) { try Self.sorted(["send", "a@x", "b@y", "--json"], hasInput: true) }
    for arguments in [
      ["send", "a@x", "--", "b@y"], ["send", "--", "a@x", "b@y"], ["send", "a@x", "b@y z"],
      ["send", "a@x", "b@"], ["send", "a@x", "b@y/z"],
    ] {
      #expect(try Self.sorted(arguments, hasInput: true).suffix(2) == ["a@x", arguments.last ?? ""])
    }
    #expect(try Self.sorted(["send", "a@x", "b@y"]) == ["send", "--", "a@x", "b@y"])
  }

  private struct Dump: Decodable {
    struct Command: Decodable {
      var commandName: String
      var subcommands: [Command]?
      var arguments: [Argument]?
    }
    struct Argument: Decodable {
      struct Name: Decodable { var name: String }
      var kind: String
      var names: [Name]?
    }
    var command: Command
  }

  @Test(
    "The options that the sorting knows are those that ArgumentParser knows.",
    arguments: TextArguments.commands.indices)
  func options(index: Int) throws {
    let command = TextArguments.commands[index]
    var found = try JSONDecoder().decode(Dump.self, from: Data(Imctl._dumpHelp().utf8)).command
    for name in command.path {
      found = try #require(found.subcommands?.first { $0.commandName == name })
    }
    func names(_ kind: String) -> Set<String> {
      Set((found.arguments ?? []).filter { $0.kind == kind }.flatMap { $0.names ?? [] }.map(\.name))
    }
    #expect(names("flag") == command.flags)
    #expect(names("option") == command.options)
  }
}
