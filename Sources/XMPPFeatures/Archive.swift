import FoundationEssentials
import XMPP
import XMPPStanza
import XMPPXML

/// The account's archive of messages at its server (XEP-0313).
///
/// A page is requested with an IQ. Its contents arrive as messages, and its end is in the answer:
///
///     var page = ArchivePage(.after(position), maximum: 100)
///     let answer = try await stream.request(page.request)
///     page.ended(with: answer)
///     // and for every message that the stream has received until `page.isComplete`:
///     if let result = page.collect(message, own: bound.jid.bare).result { … }
public enum Archive {
  public static let namespace = "urn:xmpp:mam:2"

  /// A message from the archive.
  public struct Result: Sendable, Equatable {
    /// The id of the request.
    public var queryID: String
    /// The message's id in the archive, which is also in the stanza-id of the own account.
    public var id: String
    public var message: Message
    /// When the server received the message.
    public var delay: Delay?
  }

  /// Whether the own account has an archive (§5). If so, its stanza-ids can be trusted.
  public static func isOffered(in discovery: ServiceDiscovery) -> Bool {
    discovery.features.contains(namespace)
  }

  /// The request for the archiving preferences (§7, now XEP-0441).
  public static func preferencesRequest() -> IQ {
    IQ(type: .get, payload: [XMLElement("prefs", namespace: namespace)])
  }

  /// Whether all messages are archived, according to an answer. A server without preferences archives all.
  public static func keepsEverything(_ answer: IQ) -> Bool {
    guard let preferences = answer.first("prefs", namespace) else { return true }
    let isEmpty = preferences.first("never")?.elements.isEmpty ?? true
    return preferences["default"] == "always" && isEmpty
  }

  /// Whether the message claims to come from an archive, whoever sent it.
  public static func isClaimed(by message: Message) -> Bool {
    message.first("result", namespace) != nil
  }

  /// The result in a message; nil if it does not come from the own account's archive.
  public static func result(in message: Message, own: JID) -> Result? {
    guard let wrapper = wrapper(in: message, own: own), let queryID = wrapper["queryid"],
      let id = StanzaID.bounded(wrapper["id"]), let forwarded = Forwarded(in: wrapper)
    else { return nil }
    return Result(queryID: queryID, id: id, message: forwarded.message, delay: forwarded.delay)
  }

  /// The result element, which only the account's server may send.
  static func wrapper(in message: Message, own: JID) -> XMLElement? {
    guard message.from == nil || message.from == own.bare else { return nil }
    return message.first("result", namespace)
  }
}

/// A page of the archive while it arrives.
public struct ArchivePage: Sendable {
  /// The query id of the request.
  public let id: String
  public let request: IQ
  /// The number of messages that have arrived.
  public private(set) var count = 0
  private let maximum: Int
  private var ids: [String] = []
  private var end: End?

  /// The end of a page (§4.4).
  private struct End {
    var first: String?
    var last: String?
    var isWhole: Bool
  }

  /// - Parameters:
  ///   - part: The position in the archive; ids are those of ``Archive/Result/id``.
  ///   - maximum: The maximum number of messages; the server may send fewer.
  ///   - with: Only messages that were exchanged with this JID.
  ///   - start: Only messages since this time.
  ///   - end: Only messages until this time.
  public init(
    _ part: ResultSet.Part, maximum: Int, with: JID? = nil, start: Date? = nil, end: Date? = nil,
    id: String = IQ.makeID()
  ) {
    self.id = id
    self.maximum = maximum
    var fields = [Self.field("FORM_TYPE", Archive.namespace, isHidden: true)]
    if let with { fields.append(Self.field("with", with.description)) }
    if let start { fields.append(Self.field("start", DateTime.text(start))) }
    if let end { fields.append(Self.field("end", DateTime.text(end))) }
    var children = [ResultSet.request(part, maximum: maximum)]
    if fields.count > 1 {
      let form = XMLElement(
        "x", namespace: Namespaces.dataForm, attributes: ["type": "submit"], children: fields)
      children.insert(form, at: 0)
    }
    request = IQ(
      type: .set, id: "archive-" + id,
      payload: [
        XMLElement(
          "query", namespace: Archive.namespace, attributes: ["queryid": id], children: children)
      ])
  }

  private static func field(_ name: String, _ value: String, isHidden: Bool = false) -> XMLElement {
    XMLElement(
      "field", namespace: Namespaces.dataForm,
      attributes: ["var": name, "type": isHidden ? "hidden" : nil],
      children: [XMLElement("value", namespace: Namespaces.dataForm, text: value)])
  }

  /// Adds a message if it belongs to this page. The result is nil if it cannot be parsed.
  public mutating func collect(_ message: Message, own: JID) -> (belongs: Bool, result: Archive.Result?) {
    guard let element = Archive.wrapper(in: message, own: own), element["queryid"] == id, count < maximum
    else { return (false, nil) }
    count += 1
    if let id = StanzaID.bounded(element["id"]) { ids.append(id) }
    return (true, Archive.result(in: message, own: own))
  }

  /// Adopts the messages that a copy of this page has collected.
  public mutating func merge(_ copy: ArchivePage) {
    count = copy.count
    ids = copy.ids
  }

  /// Handles the answer to the request. Returns false for an error.
  public mutating func ended(with answer: IQ) -> Bool {
    guard answer.type == .result, let fin = answer.first("fin", Archive.namespace) else { return false }
    let ends = ResultSet.ends(of: fin)
    end = End(first: ends?.first, last: ends?.last, isWhole: fin["complete"] == "true")
    return true
  }

  /// Whether the end has arrived, and all messages before it.
  public var isComplete: Bool {
    guard let end else { return false }
    return end.last.map(ids.contains) ?? true
  }

  /// Whether a message of the archive was on this page.
  public func contains(_ id: String) -> Bool { ids.contains(id) }

  /// Whether no messages follow this page in the direction of reading.
  public var isLast: Bool { end?.isWhole == true || end.map { $0.last == nil } == true }

  /// The position for the next page forwards; nil if this page is empty.
  public var position: String? { end?.last }

  /// The position for the next page backwards; nil if this page is empty.
  public var first: String? { end?.first }
}
