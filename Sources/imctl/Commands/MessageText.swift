import AgentProtocol
import Terminal

/// What a message says, in text output of every command: marks, the subject, then the body.
struct MessageText: CustomStringConvertible {
  /// What is known of the message beside its text.
  var marks: [String] = []
  /// `[subject] body`; of `/me waves`, `* bob waves`.
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

  /// The marks in brackets, with a space behind them; nothing where there are none.
  var mark: String { marks.isEmpty ? "" : "(\(marks.joined(separator: ", "))) " }

  var description: String { mark + content }

  /// What people call somebody: in a room the nickname, else the local part.
  private static func sender(of message: MessageEvent) -> String {
    let from = message.from ?? ""
    if message.type == "groupchat" { return String(from.drop { $0 != "/" }.dropFirst()) }
    return String(from.prefix { $0 != "@" && $0 != "/" })
  }
}
