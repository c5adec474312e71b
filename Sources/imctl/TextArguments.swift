import ArgumentParser

/// The arguments of a command that ends in a text, in an order that ArgumentParser cannot misinterpret.
///
/// ArgumentParser treats everything that begins with a dash as an option. After the recipient of a message, such a word
/// is usually a text, and often the value of a shell variable. Therefore, the arguments are sorted before they are
/// parsed: options first, then `--`, then recipient and text. Does no I/O.
struct TextArguments {
  /// A command whose arguments are sorted, and the names of its options without dashes.
  struct Command {
    var path: [String]
    var flags: Set<String> = []
    /// The options that have a value.
    var options: Set<String> = []
    /// Whether `--` precedes a command. Arguments are then checked, but not sorted.
    var endsInCommand = false
    /// Whether a second argument that is a JID may have been meant as a recipient.
    var mayHaveRecipients = false
  }

  /// The sorted arguments.
  let sorted: [String]

  /// Throws if the meaning of the arguments is ambiguous.
  ///
  /// - Parameters:
  ///   - arguments: The arguments after the program's name.
  ///   - hasInput: Whether standard input is a pipe or a file with content.
  init(_ arguments: [String], hasInput: () -> Bool) throws {
    guard let command = Self.commands.first(where: { arguments.starts(with: $0.path) }) else {
      sorted = arguments
      return
    }
    var sorting = Sorting(command)
    try sorting.sort(arguments.dropFirst(command.path.count))
    let words = sorting.words
    if command.mayHaveRecipients, words.count > 1, !sorting.isTerminated || sorting.wordsBefore > 1,
      Self.isBareJID(words[1]), hasInput()
    {
      throw ValidationError(
        inLanguage(
          "\(words[1]) is in the place of the text. To add a recipient, use `--to`; to send it as the text, put `--` before it.",
          "\(words[1]) 处于文本的位置。多个收件人：`--to`；文本本身是 JID 时：请在其前加 `--`。"))
    }
    let isSorted = !command.endsInCommand && !words.isEmpty
    sorted = isSorted ? command.path + sorting.options + ["--"] + words : arguments
  }

  private static func isBareJID(_ word: String) -> Bool {
    let parts = word.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
      && !word.contains { $0.isWhitespace || $0 == "/" }
  }
}

/// One pass over the arguments after the command's name.
private struct Sorting {
  let command: TextArguments.Command
  private(set) var options: [String] = []
  private(set) var words: [String] = []
  /// Whether there was a `--`, and the number of words before it.
  private(set) var isTerminated = false
  private(set) var wordsBefore = 0

  init(_ command: TextArguments.Command) { self.command = command }

  mutating func sort(_ arguments: ArraySlice<String>) throws {
    var rest = arguments
    while let argument = rest.popFirst() {
      if argument == "--" {
        isTerminated = true
        wordsBefore = words.count
        if !command.endsInCommand { words += rest }
        return
      }
      if try isWord(argument) {
        words.append(argument)
        continue
      }
      options.append(argument)
      if takesNext(argument), let value = rest.popFirst() { options.append(value) }
    }
    wordsBefore = words.count
  }

  /// Whether the argument is a recipient or a text; otherwise, it is an option.
  private func isWord(_ argument: String) throws -> Bool {
    guard argument.hasPrefix("-"), argument != "-" else { return true }
    let isBehind = !words.isEmpty
    let name = Self.name(argument)
    let isAssignment = argument.contains("=") && command.options.contains(name)
    if isBehind, !isAssignment, argument.contains(where: \.isWhitespace) {
      if command.endsInCommand { throw Self.refused(argument) }
      return true
    }
    guard isBehind else {
      // ArgumentParser would recognise an `h` in it, and print the help.
      if Self.isCluster(argument), !isKnown(argument) { throw Self.refused(argument) }
      return false
    }
    if Self.isEarly(name) {
      throw ValidationError(
        inLanguage(
          "--\(name) must come before the recipient; to send it as the text, put `--` before it.",
          "--\(name) 只能放在收件人之前；如果它是文本，请在其前加 `--`。"))
    }
    // ArgumentParser would answer these options instead of sending a message.
    if ["h", "help", "version"].contains(name) {
      throw ValidationError(
        inLanguage(
          "\(argument) is in the place of the text; to send it as the text, put `--` before it.",
          "\(argument) 处于文本的位置；如果它是文本，请在其前加 `--`。"))
    }
    if !isKnown(argument) { throw Self.refused(argument) }
    return false
  }

  private func isKnown(_ argument: String) -> Bool {
    let name = Self.name(argument)
    if argument.contains("=") { return command.options.contains(name) }
    if command.options.contains(name) || command.flags.contains(name) { return true }
    return Self.isCluster(argument) && name.allSatisfy { $0 != "h" && command.flags.contains(String($0)) }
  }

  private func takesNext(_ argument: String) -> Bool {
    !argument.contains("=") && command.options.contains(Self.name(argument))
  }

  /// The option's name without dashes and value.
  private static func name(_ argument: String) -> String {
    String(argument.drop { $0 == "-" }.prefix { $0 != "=" })
  }

  /// Whether the argument consists of several one-letter flags, such as `-vv`.
  private static func isCluster(_ argument: String) -> Bool {
    !argument.hasPrefix("--") && argument.count > 2
  }

  /// Whether the option runs a program or reads a file. It is refused after the recipient, where a shell variable could
  /// inject it.
  private static func isEarly(_ name: String) -> Bool {
    ["file", "to-file"].contains(name) || name.hasSuffix("-command")
  }

  private static func refused(_ argument: String) -> ValidationError {
    ValidationError(
      inLanguage(
        "There is no option '\(argument)'; to send it as the text, put `--` before it.",
        "没有选项“\(argument)”；如果它是文本，请在其前加 `--`。"))
  }
}

extension TextArguments {
  private static let flags: Set = ["json", "quiet", "q", "verbose", "v", "version", "help", "h"]
  private static let options: Set = ["account", "a", "timeout"]
  private static let connection: Set = [
    "host", "port", "tls", "ca-file", "cert-sha256", "proxy", "proxy-password-command", "resource",
  ]

  /// The commands whose arguments are sorted. A test compares them with the definitions for ArgumentParser.
  static let commands = [
    Command(
      path: ["send"], flags: flags.union(["lines", "direct", "password-stdin"]),
      options: options.union(connection).union([
        "to", "to-file", "wait", "subject", "s", "thread", "type", "id", "state", "password-command",
      ]), mayHaveRecipients: true),
    Command(path: ["edit"], flags: flags.union(["last"]), options: options.union(["wait"])),
    Command(path: ["devices", "send"], flags: flags, options: options),
    Command(
      path: ["presence"], flags: flags, options: options.union(["priority", "to", "for"]), endsInCommand: true
    ),
  ]
}
