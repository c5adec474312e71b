import NIOCore
import XMPP
import XMPPStanza
import XMPPTransport
import XMPPXML

/// A command that an entity carries out for who may ask for it (XEP-0050).
public enum AdHocCommand {
  public static let namespace = "http://jabber.org/protocol/commands"

  /// Ends sessions of an account: for administrators of its server (XEP-0133 §4.5).
  public static let endUserSession = "http://jabber.org/protocol/admin#end-user-session"

  /// Tells of an account, its online resources among it: for administrators of its server (XEP-0133 §4.9).
  public static let userStatistics = "http://jabber.org/protocol/admin#user-stats"

  /// Resources of an account that are read of an answer.
  static let maximumResources = 1000

  /// The resources that have a session, as an administrator of the server is told (XEP-0133 §4.9).
  ///
  /// - Returns: nil where the server does not tell.
  /// - Throws: as ``execute(_:at:answers:on:timeout:)``.
  public static func onlineResources(
    of account: JID, at server: JID, on stream: some RequestStream, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) -> Set<String>? {
    let answers = ["accountjid": [account.description]]
    let form = try await execute(
      userStatistics, at: server, answers: answers, on: stream, timeout: timeout)
    guard let field = form?.fields.first(where: { $0.name == "onlineresources" }) else { return nil }
    // Some servers send one value with a line for each resource.
    let lines = field.values.lazy.flatMap { $0.split(separator: "\n") }.map(String.init)
    return Set(lines.prefix(maximumResources))
  }

  /// Has a command carried out that wants one form: its last stage.
  ///
  /// - Parameters:
  ///   - node: which command.
  ///   - answers: to fields of the form by name, of which the form need not have all.
  /// - Returns: the form of the result, where there is one.
  /// - Throws: `stanzaError` where the entity refuses, `protocolError` for what is no form, and where the form has no
  ///   field that there is an answer to.
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
    // Some servers send a result as a form to fill in.
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
