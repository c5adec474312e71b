import AgentProtocol
import Terminal

/// The content of a message in the text output of every command: marks, subject and body.
struct MessageText: CustomStringConvertible {
  /// Properties of the message such as `encrypted`.
  var marks: [String] = []
  /// `[subject] body`; for the body `/me waves`, `* bob waves`.
  let content: String

  init(_ message: MessageEvent) {
    if let mark = message.refusalMark { marks.append(mark) }
    if message.retracted == true { marks.append(inLanguage("retracted", "已撤回")) }
    if message.edited == true { marks.append(inLanguage("edited", "已编辑")) }
    if message.encrypted { marks.append("encrypted") }
    let subject = message.subject.map { "[\(peer: $0)] " } ?? ""
    let body = message.body ?? ""
    let text = message.action.map { "* \(peer: Self.sender(of: message)) \(peer: $0)" }
    content = subject + (text ?? "\(peer: body)")
  }

  /// The marks in parentheses with a space after them; empty without marks.
  var mark: String { marks.isEmpty ? "" : "(\(marks.joined(separator: ", "))) " }

  var description: String { mark + content }

  /// The displayed name of the sender: the nickname in a room, otherwise the local part.
  private static func sender(of message: MessageEvent) -> String {
    let from = message.from ?? ""
    if message.type == "groupchat" { return String(from.drop { $0 != "/" }.dropFirst()) }
    return String(from.prefix { $0 != "@" && $0 != "/" })
  }
}
