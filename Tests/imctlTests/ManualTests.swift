import FoundationEssentials
import TestSupport
import Testing

@Suite("The manual page")
struct ManualTests {
  private struct Dump: Decodable {
    var command: Command
  }
  private struct Command: Decodable {
    var commandName: String
    var subcommands: [Command]?
    var arguments: [Argument]?
  }
  private struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }
    var kind: String
    var names: [Name]?
    var shouldDisplay: Bool
  }

  @Test("The manual page lists every command and option that --help lists, and no other option.")
  func agreesWithHelp() async throws {
    try await withIMCTL { imctl in
      let path =
        #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/Sources/imctl/imctl.1"
      let page = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
      let words = Set(page.split { $0.isWhitespace || $0 == "," }.map(String.init))
      let dump = try await imctl.run("--experimental-dump-help").output
      let root = try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command

      var options: Set<String> = ["-generate-completion-script"]
      func visit(_ command: Command) {
        #expect(words.contains(command.commandName), "\(command.commandName) is missing")
        for argument in command.arguments ?? [] where argument.kind != "positional" && argument.shouldDisplay
        {
          for name in argument.names ?? [] {
            options.insert(name.kind == "short" ? name.name : "-" + name.name)
          }
        }
        for subcommand in command.subcommands ?? [] { visit(subcommand) }
      }
      visit(root)
      #expect(options.count > 30)

      var described: Set<String> = []
      for line in page.split(separator: "\n") where line.hasPrefix(".It ") || line.hasPrefix(".Op ") {
        let parts = line.split { $0 == " " || $0 == "," }
        for (macro, name) in zip(parts, parts.dropFirst()) where macro == "Fl" && name != "-" {
          described.insert(String(name))
        }
      }
      #expect(described == options)
    }
  }
}
