import NIOCore
import XMPPStanza
import XMPPXML

/// A stanza that was sent, until the server has acknowledged it.
public struct SentStanza: Sendable, Equatable {
  /// Its `id`.
  public var id: String?
  /// nil where only its number and id have outlived the process that sent it.
  public var element: XMLElement?

  public init(id: String?, element: XMLElement?) {
    self.id = id
    self.element = element
  }

  init(_ element: XMLElement) { self.init(id: element["id"], element: element) }
}

/// What each side of a session has of the other's stanzas, and what it takes to go on with it on another connection
/// (XEP-0198).
///
/// Pure: stanzas and acknowledgements go in, what is to be sent comes out. Counters are modulo 2^32, as on the wire.
/// A stream that ends leaves its value in ``XMPPStream/management``; as ``StreamConfiguration/resuming`` it goes on.
public struct StreamManagement: Sendable, Equatable {
  /// Stanzas that may wait for acknowledgement: a server that takes them all and confirms none is given up.
  static let limit = 10_000
  /// Stanzas that wait for acknowledgement beyond which nobody's request is answered any more: whoever asks faster than
  /// the server takes the answers must not end the session.
  static let answerLimit = 1000
  /// Stanzas after which the server is asked again, though it has not answered yet: who sends many learns in time how
  /// far they have come, and need not wait for the last of them.
  static let pace: UInt32 = 500
  /// Connections on which a session may be resumed without an acknowledgement.
  static let patience = 3
  /// Handled stanzas after which the server is told without having asked: some end a session with too many.
  static let unasked: UInt32 = 250

  /// Whose session it is: the full JID.
  public private(set) var jid: JID
  /// Names the session to the server; nil where it cannot be resumed.
  public private(set) var id: String?
  /// Where the server wants it to be resumed: `host:port` (§3).
  public private(set) var location: String?
  /// Seconds for which the server keeps it; nil: it does not say.
  public private(set) var maximum: Int?
  /// The server has agreed.
  public private(set) var isEnabled = false
  /// Stanzas that have come.
  private(set) var received: UInt32 = 0
  /// Those of them that need not come again.
  private(set) var handled: UInt32 = 0
  /// Stanzas that the server has.
  private(set) var acknowledged: UInt32 = 0
  /// The rest, oldest first.
  private(set) var unacknowledged = CircularBuffer<SentStanza>()
  /// An answer to `<r/>` is outstanding.
  var isAsking: Bool { questions > 0 }
  /// `<r/>` that were not answered.
  private var questions = 0
  /// Stanzas that were sent before the last `<r/>`.
  private var lastAsked: UInt32 = 0
  /// The server has asked, and was told less than it has sent.
  private var owesAnswer = false
  private var told: UInt32 = 0
  /// Connections in a row on which the server has agreed to go on with the session and shown nothing of it since.
  private var unheard = 0
  /// Nobody knows how many were sent: the process that did is gone.
  private var isRestored = false

  /// Counts what is sent from here on: `<enable/>` goes out before it.
  public init(of jid: JID) { self.jid = jid }

  /// So much is unacknowledged that the server cannot mean well.
  var isOverfull: Bool { unacknowledged.count > Self.limit }

  /// An answer to a request may be added to what waits for acknowledgement.
  var hasRoomForAnswers: Bool { unacknowledged.count < Self.answerLimit }

  /// The server is not known to have everything that was sent.
  public var isWaiting: Bool { !unacknowledged.isEmpty }

  public var canResume: Bool { isEnabled && id != nil && unheard < Self.patience }

  /// The server goes on with the session, and is not known to hear anything of this connection.
  var isUnheard: Bool { unheard > 0 }

  /// `<enable/>` (§3).
  static let request = XMLElement(
    "enable", namespace: Namespaces.streamManagement, attributes: ["resume": "true"])

  /// `<enabled/>`: the counters of what comes start now.
  mutating func enabled(_ element: XMLElement) {
    isEnabled = true
    let resumes = element["resume"] == "true" || element["resume"] == "1"
    id = resumes ? element["id"].flatMap { (1...4096).contains($0.utf8.count) ? $0 : nil } : nil
    location = element["location"].flatMap { $0.utf8.count <= 1024 ? $0 : nil }
    maximum = element["max"].flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
  }

  // MARK: What is sent

  mutating func sent(_ element: XMLElement) {
    if Self.isStanza(element) { unacknowledged.append(SentStanza(element)) }
  }

  /// `<r/>` where something waits for acknowledgement and none was asked for: one question a round trip, or
  /// ``pace`` stanzas.
  mutating func question() -> XMLElement? {
    guard isEnabled, !unacknowledged.isEmpty, !isAsking || sent &- lastAsked >= Self.pace else { return nil }
    return ask()
  }

  /// The same amid many stanzas.
  mutating func questionBetween() -> XMLElement? {
    guard isEnabled, unacknowledged.count >= Self.pace, sent &- lastAsked >= Self.pace else { return nil }
    return question()
  }

  private var sent: UInt32 { acknowledged &+ UInt32(truncatingIfNeeded: unacknowledged.count) }

  /// `<r/>`, whatever waits.
  mutating func ask() -> XMLElement {
    questions += 1
    lastAsked = sent
    return XMLElement("r", namespace: Namespaces.streamManagement)
  }

  /// `<a/>`: what the server has by now.
  ///
  /// Throws for a count that goes back or beyond what was sent (§6).
  mutating func acknowledged(_ element: XMLElement) throws(MiscountError) -> [SentStanza] {
    let covered = try cover(Self.count(element))
    unheard = 0
    // Where it has what was asked for last, no other answer matters.
    let isLast = Int32(bitPattern: lastAsked &- acknowledged) <= 0
    questions = isLast ? 0 : max(0, questions - 1)
    return covered
  }

  private mutating func cover(_ count: UInt32?) throws(MiscountError) -> [SentStanza] {
    guard let count, count &- acknowledged <= UInt32(clamping: unacknowledged.count) else {
      throw MiscountError(count: count ?? 0, sent: sent)
    }
    let covered = Array(unacknowledged.prefix(Int(count &- acknowledged)))
    unacknowledged.removeFirst(covered.count)
    acknowledged = count
    return covered
  }

  struct MiscountError: Error, Equatable {
    var count: UInt32
    var sent: UInt32
  }

  // MARK: What comes

  mutating func received(_ element: XMLElement) {
    if isEnabled, Self.isStanza(element) { received &+= 1 }
  }

  /// `<r/>`: the answer is due when everything that has come is handled.
  mutating func asked() { owesAnswer = true }

  /// Whether the server is to hear of what has come.
  var isAcknowledgementDue: Bool { owesAnswer || received &- told >= Self.unasked }

  /// Everything up to `count` is handled: what to tell the server.
  mutating func confirm(through count: UInt32) -> XMLElement? {
    guard count &- handled <= received &- handled else { return nil }
    handled = count
    guard isEnabled, owesAnswer || handled &- told >= Self.unasked else { return nil }
    if handled == received { owesAnswer = false }
    return acknowledgement()
  }

  /// Also sent unasked before the end: what was handled is not to come again.
  mutating func acknowledgement() -> XMLElement {
    told = handled
    return XMLElement("a", namespace: Namespaces.streamManagement, attributes: ["h": String(handled)])
  }

  // MARK: Another connection

  /// `<resume/>` (§5).
  var resumption: XMLElement? {
    guard let id, canResume else { return nil }
    return XMLElement(
      "resume", namespace: Namespaces.streamManagement, attributes: ["h": String(handled), "previd": id])
  }

  /// The server goes on with this session. What it has is taken off; what it has not is to be sent again, but for
  /// requests, which have failed with their connection.
  ///
  /// - Returns: what was acknowledged, and what only the store can send again.
  mutating func resumed(
    _ element: XMLElement
  ) throws(MiscountError) -> (acknowledged: [SentStanza], lost: [SentStanza]) {
    questions = 0
    unheard += 1
    owesAnswer = false
    // What came after the last that was handled comes again.
    received = handled
    told = handled
    let covered = try settle(Self.count(element))
    let lost = Array(unacknowledged.lazy.filter { $0.element == nil && $0.id != nil })
    unacknowledged.removeAll { $0.element?.isRequest != false }
    return (covered, lost)
  }

  /// The server does not. What `<failed/>` counts has arrived all the same (§5).
  ///
  /// - Returns: what was acknowledged, and what may have arrived or not.
  mutating func refused(_ element: XMLElement) -> (acknowledged: [SentStanza], lost: [SentStanza]) {
    let covered = (try? settle(Self.count(element))) ?? []
    return (covered, abandoned())
  }

  /// The session is over: what may have arrived or not.
  mutating func abandoned() -> [SentStanza] {
    defer { unacknowledged = [] }
    id = nil
    return Array(unacknowledged.lazy.filter { $0.element.map { !$0.isRequest } ?? ($0.id != nil) })
  }

  /// The messages that the server has not, taken off: they are sent again as new stanzas, or not at all.
  mutating func removeMessages() -> [SentStanza] {
    let isMessage = { (stanza: SentStanza) in stanza.element?.name.local == "message" }
    defer { unacknowledged.removeAll(where: isMessage) }
    return Array(unacknowledged.lazy.filter(isMessage))
  }

  /// What is to be sent again on the new connection, to be counted anew.
  mutating func removeUnacknowledged() -> [XMLElement] {
    defer { unacknowledged = [] }
    return unacknowledged.compactMap(\.element)
  }

  /// The session cannot be resumed any more.
  public mutating func end() { id = nil }

  /// Where the server wants it to be resumed there is no server that can: it is resumed where the account's own is.
  public mutating func forgetLocation() { location = nil }

  private mutating func settle(_ count: UInt32?) throws(MiscountError) -> [SentStanza] {
    guard isRestored, let count else { return try cover(count) }
    isRestored = false
    // Up to half the circle behind: of what was sent later nothing is known here.
    let progress = count &- acknowledged
    guard progress < 1 << 31 else { throw MiscountError(count: count, sent: acknowledged) }
    let covered = Array(unacknowledged.prefix(Int(clamping: progress)).lazy.filter { $0.id != nil })
    unacknowledged.removeFirst(min(Int(clamping: progress), unacknowledged.count))
    acknowledged = count
    return covered
  }

  private static func count(_ element: XMLElement) -> UInt32? { element["h"].flatMap { UInt32($0) } }

  private static func isStanza(_ element: XMLElement) -> Bool {
    element.name.namespace == Namespaces.client && ["message", "presence", "iq"].contains(element.name.local)
  }
}

extension StreamManagement {
  /// What outlives the process.
  ///
  /// Of what was sent the numbers and ids of messages alone: their text is where they came from.
  public struct Snapshot: Codable, Sendable, Equatable {
    public var id: String
    public var jid: JID
    public var handled: UInt32
    public var acknowledged: UInt32
    public var location: String?
    public var maximum: Int?
    /// One entry for each stanza that waits for acknowledgement; nil for all but messages.
    public var unacknowledged: [String?]

    fileprivate enum Key: String, CodingKey {
      case id, jid, handled, acknowledged, location, maximum, unacknowledged
    }
  }

  /// nil where the session cannot be resumed.
  ///
  /// - Parameter handled: as if everything up to there were handled; nil: as it is.
  public func snapshot(handled: UInt32? = nil) -> Snapshot? {
    guard let id, canResume else { return nil }
    return Snapshot(
      id: id, jid: jid, handled: handled ?? self.handled, acknowledged: acknowledged, location: location,
      maximum: maximum,
      unacknowledged: unacknowledged.map {
        $0.element.map { $0.name.local == "message" } ?? true ? $0.id : nil
      })
  }

  public init(_ snapshot: Snapshot) {
    self.init(of: snapshot.jid)
    id = snapshot.id
    location = snapshot.location
    maximum = snapshot.maximum
    isEnabled = true
    isRestored = true
    handled = snapshot.handled
    received = handled
    told = handled
    acknowledged = snapshot.acknowledged
    unacknowledged = CircularBuffer(
      snapshot.unacknowledged.prefix(Self.limit).map { SentStanza(id: $0, element: nil) })
  }
}

extension StreamManagement.Snapshot {
  /// Between ids, which are kept as one text: there may be a thousand, and a snapshot is taken often.
  private static let separator = UInt8(ascii: "\n")

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    id = try fields.decode(String.self, forKey: .id)
    jid = try fields.decode(JID.self, forKey: .jid)
    handled = try fields.decode(UInt32.self, forKey: .handled)
    acknowledged = try fields.decode(UInt32.self, forKey: .acknowledged)
    location = try fields.decodeIfPresent(String.self, forKey: .location)
    maximum = try fields.decodeIfPresent(Int.self, forKey: .maximum)
    let ids = try fields.decodeIfPresent(String.self, forKey: .unacknowledged)
    unacknowledged =
      ids?.utf8.split(separator: Self.separator, omittingEmptySubsequences: false).map {
        $0.isEmpty ? nil : String(Substring($0))
      } ?? []
  }

  /// An id that cannot stand between others is left out, as if the stanza had none.
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(id, forKey: .id)
    try fields.encode(jid, forKey: .jid)
    try fields.encode(handled, forKey: .handled)
    try fields.encode(acknowledged, forKey: .acknowledged)
    try fields.encodeIfPresent(location, forKey: .location)
    try fields.encodeIfPresent(maximum, forKey: .maximum)
    if unacknowledged.isEmpty { return }
    var ids: [UInt8] = []
    for (place, id) in unacknowledged.enumerated() {
      if place > 0 { ids.append(Self.separator) }
      let before = ids.count
      ids.append(contentsOf: (id ?? "").utf8)
      if ids[before...].contains(Self.separator) { ids.removeSubrange(before...) }
    }
    try fields.encode(String(decoding: ids, as: UTF8.self), forKey: .unacknowledged)
  }
}

extension XMLElement {
  /// An IQ that waits for an answer.
  fileprivate var isRequest: Bool { name.local == "iq" && ["get", "set"].contains(self["type"]) }
}
