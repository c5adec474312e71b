import AgentProtocol
import ArgumentParser

/// An ArgumentParser message about invalid arguments, in the format of all other errors: with the name of the program,
/// and in the language of this process.
struct UsageText: CustomStringConvertible {
  let description: String

  /// - Parameter message: The full message of ArgumentParser: the error, the help for one argument, the usage.
  init(_ message: String, _ language: Language = .current) {
    let lines = message.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    description = lines.map { Self.line($1, isFirst: $0 == 0, language) }.joined(separator: "\n")
  }

  /// - Parameter command: The command with the invalid arguments.
  init(_ error: ValidationError, of command: any ParsableCommand.Type, _ language: Language = .current) {
    let usage = Imctl.usageString(for: command).replacing("\n", with: "\n       ")
    let name = (["imctl"] + CommandName.path).joined(separator: " ")
    self.init(
      "Error: \(error.message)\nUsage: \(usage)\n  See '\(name) --help' for more information.", language)
  }

  private static func line(_ line: Substring, isFirst: Bool, _ language: Language) -> String {
    let error = "Error: "
    if isFirst, line.hasPrefix(error) {
      let message = String(line.dropFirst(error.count))
      return "imctl: " + ParserMessage(message).detail.text(language)
    }
    guard language == .chinese else { return String(line) }
    let end = "' for more information."
    if line.hasPrefix("  See '"), line.hasSuffix(end) {
      return "  详见 '\(line.dropFirst(7).dropLast(end.count))'。"
    }
    let frame = [("Help:  ", "帮助："), ("Usage: ", "用法：")]
    guard let (english, chinese) = frame.first(where: { line.hasPrefix($0.0) }) else { return String(line) }
    return chinese + line.dropFirst(english.count)
  }
}
