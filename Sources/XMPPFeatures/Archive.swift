import FoundationEssentials
import XMPP
import XMPPStanza
import XMPPXML

/// The account's archive of messages at its server (XEP-0313).
///
/// A page is asked for with an IQ. What is in it comes as messages, and its end as the answer:
///
///     var page = ArchivePage(.after(position), maximum: 100)
///     let answer = try await stream.request(page.request)
///     page.ended(with: answer)
///     // and for every message that the stream has given until `page.isComplete`:
///     if let result = page.collect(message, own: bound.jid.bare).result { … }
public enum Archive {
  public static let namespace = "urn:xmpp:mam:2"

  /// A message of the archive.
  public struct Result: Sendable, Equatable {
    /// The request that it answers.
    public var queryID: String
    /// Its id in the archive: what a stanza-id of the own account says, too.
    public var id: String
    public var message: Message
    /// When the server got it.
    public var delay: Delay?
  }

  /// Whether the own account has an archive, by what it says it can do (§5). Its stanza-ids may be believed then.
  public static func isOffered(in discovery: ServiceDiscovery) -> Bool {
    discovery.features.contains(namespace)
  }

  /// Asks what goes into the archive (§7, now XEP-0441).
  public static func preferencesRequest() -> IQ {
    IQ(type: .get, payload: [XMLElement("prefs", namespace: namespace)])
  }

  /// Whether an answer says that every message goes into the archive; a server that has no preferences keeps all.
  public static func keepsEverything(_ answer: IQ) -> Bool {
    guard let preferences = answer.first("prefs", namespace) else { return true }
    let isEmpty = preferences.first("never")?.elements.isEmpty ?? true
    return preferences["default"] == "always" && isEmpty
  }

  /// Whether the message claims to be out of an archive, whoever has sent it.
  public static func isClaimed(by message: Message) -> Bool {
    message.first("result", namespace) != nil
  }

  /// The result in a message; nil where it is none of the own account's archive.
  public static func result(in message: Message, own: JID) -> Result? {
    guard let wrapper = wrapper(in: message, own: own), let queryID = wrapper["queryid"],
      let id = StanzaID.bounded(wrapper["id"]), let forwarded = Forwarded(in: wrapper)
    else { return nil }
    return Result(queryID: queryID, id: id, message: forwarded.message, delay: forwarded.delay)
  }

  /// What only the own server may have sent.
  static func wrapper(in message: Message, own: JID) -> XMLElement? {
    guard message.from == nil || message.from == own.bare else { return nil }
    return message.first("result", namespace)
  }
}

/// One page of the archive, while it arrives.
public struct ArchivePage: Sendable {
  /// What the server calls the request.
  public let id: String
  public let request: IQ
  /// How many messages have come.
  public private(set) var count = 0
  private let maximum: Int
  private var ids: [String] = []
  private var end: End?

  /// How a page has ended (§4.4).
  private struct End {
    var first: String?
    var last: String?
    var isWhole: Bool
  }

  /// - Parameters:
  ///   - part: where in the archive; ids are those of ``Archive/Result/id``.
  ///   - maximum: messages of the page; the server may give less.
  ///   - with: only what was exchanged with this JID.
  ///   - start: nothing older than this.
  ///   - end: nothing newer than this.
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

  /// Whether the message belongs to this page; if so, what is in it: nothing where that cannot be understood.
  public mutating func collect(_ message: Message, own: JID) -> (belongs: Bool, result: Archive.Result?) {
    guard let element = Archive.wrapper(in: message, own: own), element["queryid"] == id, count < maximum
    else { return (false, nil) }
    count += 1
    if let id = StanzaID.bounded(element["id"]) { ids.append(id) }
    return (true, Archive.result(in: message, own: own))
  }

  /// Takes over what ``collect(_:own:)`` has left in a copy of this page.
  public mutating func merge(_ copy: ArchivePage) {
    count = copy.count
    ids = copy.ids
  }

  /// Takes the answer to the request; false where it is an error.
  public mutating func ended(with answer: IQ) -> Bool {
    guard answer.type == .result, let fin = answer.first("fin", Archive.namespace) else { return false }
    let ends = ResultSet.ends(of: fin)
    end = End(first: ends?.first, last: ends?.last, isWhole: fin["complete"] == "true")
    return true
  }

  /// The end was told, and all that was to come before it has come.
  public var isComplete: Bool {
    guard let end else { return false }
    return end.last.map(ids.contains) ?? true
  }

  /// Whether a message of the archive was in this page.
  public func contains(_ id: String) -> Bool { ids.contains(id) }

  /// Nothing is left behind this page; before it, where it was read backwards.
  public var isLast: Bool { end?.isWhole == true || end.map { $0.last == nil } == true }

  /// Where the next page goes on; nil where this one is empty.
  public var position: String? { end?.last }

  /// Where the next page goes on backwards; nil where this one is empty.
  public var first: String? { end?.first }
}
