import AgentProtocol
import ArgumentParser

/// The words of a command line that name the command.
enum CommandName {
  /// The words of this process's command: `["account", "import"]`; empty without a command.
  private(set) nonisolated(unsafe) static var path: [String] = []
  /// The type of the command.
  private(set) nonisolated(unsafe) static var command: any ParsableCommand.Type = Imctl.self

  /// Common aliases in other programs.
  private static let aliases = ["ls": "list", "rm": "remove"]

  /// Returns the arguments for ArgumentParser.
  ///
  /// Throws `invalidParameter` for an unknown command, with the most similar one. ArgumentParser would report an
  /// unexpected argument, or print the help of the parent command.
  static func resolve(_ arguments: [String]) throws(Failure) -> [String] {
    var arguments = arguments
    command = Imctl.self
    var index = arguments.first == "help" ? 1 : 0
    path = []
    while index < arguments.count, !arguments[index].hasPrefix("-") {
      let word = arguments[index]
      let subcommands = command.configuration.subcommands
      if subcommands.isEmpty || word == "help" { break }
      let alias = aliases[word]
      if let next = subcommands.first(where: { $0.name == word || $0.name == alias }) {
        arguments[index] = next.name
        path.append(next.name)
        command = next
        index += 1
      } else if word == "version" {
        return ["--version"]
      } else {
        throw unknown(word, in: command)
      }
    }
    return arguments
  }

  private static func unknown(_ word: String, in command: any ParsableCommand.Type) -> Failure {
    let name = (path + [word]).joined(separator: " ")
    guard let nearest = nearest(to: word, in: command) else {
      return .invalid(.usage(.unknownCommand, name))
    }
    return .invalid(.usage(.unknownCommandNear, name, nearest))
  }

  /// The command that the user may have meant: one with a similar spelling, or one with this name in another group.
  private static func nearest(to word: String, in command: any ParsableCommand.Type) -> String? {
    let names = command.configuration.subcommands.map { $0.name }
    if let begun = names.first(where: { word.count > 1 && $0.hasPrefix(word) }) {
      return (path + [begun]).joined(separator: " ")
    }
    let limit = min(3, word.count - 1)
    if let nearest = names.min(by: { distance(word, $0) < distance(word, $1) }),
      distance(word, nearest) <= min(limit, nearest.count - 1)
    {
      return (path + [nearest]).joined(separator: " ")
    }
    let group = Imctl.configuration.subcommands.first { group in
      group.configuration.subcommands.contains { $0.name == word }
    }
    return group.map { $0.name + " " + word }
  }

  /// The distance of a word from a command. A long word is shortened, since it is far from every command.
  private static func distance(_ one: String, _ other: String) -> Int {
    Spelling.distance(String(one.prefix(40)), other)
  }
}

extension ParsableCommand {
  fileprivate static var name: String { configuration.commandName ?? _commandName }
}
