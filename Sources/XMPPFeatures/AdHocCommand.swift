import NIOCore
import XMPP
import XMPPStanza
import XMPPTransport
import XMPPXML

/// Runs ad-hoc commands of an entity (XEP-0050).
public enum AdHocCommand {
  public static let namespace = "http://jabber.org/protocol/commands"

  /// Ends sessions of an account; for administrators of its server (XEP-0133 §4.5).
  public static let endUserSession = "http://jabber.org/protocol/admin#end-user-session"

  /// Returns statistics of an account, including its online resources; for administrators of its server (XEP-0133
  /// §4.9).
  public static let userStatistics = "http://jabber.org/protocol/admin#user-stats"

  /// The maximum number of resources that are read from an answer.
  static let maximumResources = 1000

  /// The online resources of an account, as its server reports them to an administrator (XEP-0133 §4.9).
  ///
  /// - Returns: nil if the server does not report them.
  /// - Throws: The errors of ``execute(_:at:answers:on:timeout:)``.
  public static func onlineResources(
    of account: JID, at server: JID, on stream: some RequestStream, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) -> Set<String>? {
    let answers = ["accountjid": [account.description]]
    let form = try await execute(
      userStatistics, at: server, answers: answers, on: stream, timeout: timeout)
    guard let field = form?.fields.first(where: { $0.name == "onlineresources" }) else { return nil }
    // Some servers send one value with one line for each resource.
    let lines = field.values.lazy.flatMap { $0.split(separator: "\n") }.map(String.init)
    return Set(lines.prefix(maximumResources))
  }

  /// Executes a command that requires one form, and returns the result.
  ///
  /// - Parameters:
  ///   - node: The node of the command.
  ///   - answers: The values by field name. The form need not have all of these fields.
  /// - Returns: The form of the result, if there is one.
  /// - Throws: `stanzaError` if the entity refuses; `protocolError` if there is no form, or if it has none of the
  ///   fields.
  @discardableResult
  public static func execute(
    _ node: String, at entity: JID, answers: [String: [String]], on stream: some RequestStream,
    timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) -> DataForm? {
    let first = try await ask(command(node, session: nil, action: "execute"), entity, stream, timeout)
    guard let form = first.elements.lazy.compactMap({ DataForm($0) }).first,
      form.fields.contains(where: { answers[$0.name] != nil })
    else {
      throw XMPPError(.protocolError, stage: .request, .says(.unknownCommandForm))
    }
    let submission = command(node, session: first["sessionid"], action: "complete", form.submission(answers))
    let last = try await ask(submission, entity, stream, timeout)
    let notes = last.elements.filter { $0.name == XMLName("note", namespace) }
    guard last["status"] == "completed", !notes.contains(where: { $0["type"] == "error" }) else {
      throw XMPPError(
        .stanzaError, stage: .request, .says(.commandNotDone),
        text: notes.first.map { String($0.text.prefix(1000)) })
    }
    // Some servers send the result as a form of the type `form`.
    return last.elements.lazy.compactMap { DataForm($0, type: "result") ?? DataForm($0) }.first
  }

  private static func command(
    _ node: String, session: String?, action: String, _ form: XMLElement? = nil
  ) -> XMLElement {
    XMLElement(
      "command", namespace: namespace,
      attributes: ["node": node, "sessionid": session, "action": action],
      children: form.map { [$0] } ?? [])
  }

  private static func ask(
    _ command: XMLElement, _ entity: JID, _ stream: some RequestStream, _ timeout: TimeAmount
  ) async throws(XMPPError) -> XMLElement {
    let answer = try await stream.request(
      IQ(type: .set, to: entity, payload: [command]), timeout: timeout)
    if let error = answer.error { throw XMPPError(stanzaError: error, to: "the command") }
    guard let command = answer.first("command", namespace) else {
      throw XMPPError(.protocolError, stage: .request, .says(.unusableCommandAnswer))
    }
    return command
  }
}
