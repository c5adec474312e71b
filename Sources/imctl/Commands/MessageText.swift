import AgentProtocol
import Terminal

/// The content of a message in the text output of every command: marks, subject and body.
struct MessageText: CustomStringConvertible {
  /// `(edited) [subject] body`; for the body `/me waves`, `* bob waves`.
  let description: String

  /// - Parameters:
  ///   - style: On a terminal, the lines of a body stay lines; in a pipe, a message is one line.
  ///   - sender: The name of the sender, for the body `/me waves`; without it, the local part of the JID.
  init(_ message: MessageEvent, _ style: OutputStyle, sender: String? = nil) {
    let marks = Self.marks(of: message)
    let subject = message.subject.map { "[\(peer: $0)] " } ?? ""
    let body =
      message.action.map { "* \(peer: sender ?? Self.sender(of: message)) " + Self.lines(of: $0, style) }
      ?? Self.lines(of: message.body ?? "", style)
    description = (marks.isEmpty ? "" : "(\(marks.joined(separator: ", "))) ") + subject + body
  }

  private static func marks(of message: MessageEvent) -> [String] {
    var marks: [String] = []
    if let mark = message.refusalMark { marks.append(mark) }
    if message.retracted == true { marks.append(inLanguage("retracted", "已撤回")) }
    if message.edited == true { marks.append(inLanguage("edited", "已编辑")) }
    if let id = message.replaces { marks.append(inLanguage("corrects \(peer: id)", "更正 \(peer: id)")) }
    if let id = message.retracts { marks.append(inLanguage("retracts \(peer: id)", "撤回 \(peer: id)")) }
    if message.encrypted { marks.append(inLanguage("encrypted", "已加密")) }
    return marks
  }

  private static func lines(of text: String, _ style: OutputStyle) -> String {
    if style.columns == nil { return "\(peer: text)" }
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .map { "\(peer: String($0))" }.joined(separator: "\n")
  }

  /// The displayed name of the sender: the nickname in a room, otherwise the local part.
  private static func sender(of message: MessageEvent) -> String {
    let from = message.from ?? ""
    if message.type == "groupchat" { return String(from.drop { $0 != "/" }.dropFirst()) }
    return String(from.prefix { $0 != "@" && $0 != "/" })
  }
}
