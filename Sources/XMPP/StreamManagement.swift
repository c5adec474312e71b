import NIOCore
import XMPPStanza
import XMPPXML

/// A sent stanza that the server has not acknowledged.
public struct SentStanza: Sendable, Equatable {
  /// The `id` attribute.
  public var id: String?
  /// The stanza; nil where only its number and ID have outlived the process that sent it.
  public var element: XMLElement?

  public init(id: String?, element: XMLElement?) {
    self.id = id
    self.element = element
  }

  init(_ element: XMLElement) { self.init(id: element["id"], element: element) }
}

/// The acknowledgement state of a session in both directions, and the data for resuming it on another connection
/// (XEP-0198).
///
/// Pure: stanzas and acknowledgements go in, elements to send come out. Counters are modulo 2^32, as on the wire. A
/// stream that ends leaves its value in ``XMPPStream/management``; pass it as ``StreamConfiguration/resuming`` to
/// resume the session.
public struct StreamManagement: Sendable, Equatable {
  /// The maximum number of unacknowledged stanzas, above which the server is given up.
  static let limit = 10_000
  /// The number of unacknowledged stanzas above which requests are not answered any more: a peer that sends requests
  /// faster than the server takes the answers must not end the session.
  static let answerLimit = 1000
  /// The number of stanzas after which another acknowledgement is requested before the last request was answered, so
  /// that a program that sends much learns its progress in time.
  static let pace: UInt32 = 500
  /// The maximum number of connections on which a session is resumed without an acknowledgement.
  static let patience = 3
  /// The number of handled stanzas that are acknowledged without a request, since some servers end a session with too
  /// many.
  static let unasked: UInt32 = 250

  /// The full JID of the session.
  public private(set) var jid: JID
  /// The ID of the session; nil where it cannot be resumed.
  public private(set) var id: String?
  /// The address where the server wants the session to be resumed: `host:port` (§3).
  public private(set) var location: String?
  /// The seconds for which the server keeps the session; nil where it does not tell.
  public private(set) var maximum: Int?
  /// Whether the server has enabled stream management.
  public private(set) var isEnabled = false
  /// The number of received stanzas.
  private(set) var received: UInt32 = 0
  /// The number of received stanzas that need not be resent.
  private(set) var handled: UInt32 = 0
  /// The number of sent stanzas that the server has.
  private(set) var acknowledged: UInt32 = 0
  /// The remaining sent stanzas, oldest first.
  private(set) var unacknowledged = CircularBuffer<SentStanza>()
  /// Whether an answer to `<r/>` is outstanding.
  var isAsking: Bool { questions > 0 }
  /// The number of unanswered `<r/>`.
  private var questions = 0
  /// The number of stanzas sent before the last `<r/>`.
  private var lastAsked: UInt32 = 0
  /// Whether the server has requested an acknowledgement and was told less than it has sent.
  private var owesAnswer = false
  private var told: UInt32 = 0
  /// The number of consecutive connections on which the server has resumed the session and shown no reaction since.
  private var unheard = 0
  /// Whether the total number of sent stanzas is unknown, because the sending process is gone.
  private var isRestored = false

  /// Starts counting sent stanzas; `<enable/>` must be sent before them.
  public init(of jid: JID) { self.jid = jid }

  /// Whether the number of unacknowledged stanzas exceeds ``limit``.
  var isOverfull: Bool { unacknowledged.count > Self.limit }

  /// Whether an answer to a request may be added to the unacknowledged stanzas.
  var hasRoomForAnswers: Bool { unacknowledged.count < Self.answerLimit }

  /// Whether stanzas are unacknowledged.
  public var isWaiting: Bool { !unacknowledged.isEmpty }

  public var canResume: Bool { isEnabled && id != nil && unheard < Self.patience }

  /// Whether the server has resumed the session without showing a reaction on this connection.
  var isUnheard: Bool { unheard > 0 }

  /// The `<enable/>` element (§3).
  static let request = XMLElement(
    "enable", namespace: Namespaces.streamManagement, attributes: ["resume": "true"])

  /// Handles `<enabled/>`, from which received stanzas are counted.
  mutating func enabled(_ element: XMLElement) {
    isEnabled = true
    let resumes = element["resume"] == "true" || element["resume"] == "1"
    id = resumes ? element["id"].flatMap { (1...4096).contains($0.utf8.count) ? $0 : nil } : nil
    location = element["location"].flatMap { $0.utf8.count <= 1024 ? $0 : nil }
    maximum = element["max"].flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
  }

  // MARK: Sending

  mutating func sent(_ element: XMLElement) {
    if Self.isStanza(element) { unacknowledged.append(SentStanza(element)) }
  }

  /// The `<r/>` to send if stanzas are unacknowledged and none was requested: one per round trip, or per ``pace``
  /// stanzas.
  mutating func question() -> XMLElement? {
    guard isEnabled, !unacknowledged.isEmpty, !isAsking || sent &- lastAsked >= Self.pace else { return nil }
    return ask()
  }

  /// The `<r/>` to send amid many stanzas.
  mutating func questionBetween() -> XMLElement? {
    guard isEnabled, unacknowledged.count >= Self.pace, sent &- lastAsked >= Self.pace else { return nil }
    return question()
  }

  private var sent: UInt32 { acknowledged &+ UInt32(truncatingIfNeeded: unacknowledged.count) }

  /// An unconditional `<r/>`.
  mutating func ask() -> XMLElement {
    questions += 1
    lastAsked = sent
    return XMLElement("r", namespace: Namespaces.streamManagement)
  }

  /// Handles `<a/>`; returns the newly acknowledged stanzas.
  ///
  /// Throws for a count that decreases or exceeds the number of sent stanzas (§6).
  mutating func acknowledged(_ element: XMLElement) throws(MiscountError) -> [SentStanza] {
    let covered = try cover(Self.count(element))
    unheard = 0
    // If the last request is covered, answers to earlier ones do not matter.
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

  // MARK: Receiving

  mutating func received(_ element: XMLElement) {
    if isEnabled, Self.isStanza(element) { received &+= 1 }
  }

  /// Handles `<r/>`, which is answered when all received stanzas are handled.
  mutating func asked() { owesAnswer = true }

  /// Whether the server is to be sent an acknowledgement.
  var isAcknowledgementDue: Bool { owesAnswer || received &- told >= Self.unasked }

  /// Records that all stanzas up to `count` are handled; returns the acknowledgement to send, if any.
  mutating func confirm(through count: UInt32) -> XMLElement? {
    guard count &- handled <= received &- handled else { return nil }
    handled = count
    guard isEnabled, owesAnswer || handled &- told >= Self.unasked else { return nil }
    if handled == received { owesAnswer = false }
    return acknowledgement()
  }

  /// The `<a/>` element. Also sent without a request before the end, so that handled stanzas are not resent.
  mutating func acknowledgement() -> XMLElement {
    told = handled
    return XMLElement("a", namespace: Namespaces.streamManagement, attributes: ["h": String(handled)])
  }

  // MARK: Resumption

  /// The `<resume/>` element (§5).
  var resumption: XMLElement? {
    guard let id, canResume else { return nil }
    return XMLElement(
      "resume", namespace: Namespaces.streamManagement, attributes: ["h": String(handled), "previd": id])
  }

  /// Handles a resumption: removes the stanzas that the server has. The others are to be sent again, except for
  /// requests, which have failed with their connection.
  ///
  /// - Returns: the acknowledged stanzas, and those that only the store can send again.
  mutating func resumed(
    _ element: XMLElement
  ) throws(MiscountError) -> (acknowledged: [SentStanza], lost: [SentStanza]) {
    questions = 0
    unheard += 1
    owesAnswer = false
    // Stanzas after the last handled one are resent by the server.
    received = handled
    told = handled
    let covered = try settle(Self.count(element))
    let lost = Array(unacknowledged.lazy.filter { $0.element == nil && $0.id != nil })
    unacknowledged.removeAll { $0.element?.isRequest != false }
    return (covered, lost)
  }

  /// Handles a refused resumption. Stanzas counted by `<failed/>` have arrived all the same (§5).
  ///
  /// - Returns: the acknowledged stanzas, and those that may or may not have arrived.
  mutating func refused(_ element: XMLElement) -> (acknowledged: [SentStanza], lost: [SentStanza]) {
    let covered = (try? settle(Self.count(element))) ?? []
    return (covered, abandoned())
  }

  /// Ends the session; returns the stanzas that may or may not have arrived.
  mutating func abandoned() -> [SentStanza] {
    defer { unacknowledged = [] }
    id = nil
    return Array(unacknowledged.lazy.filter { $0.element.map { !$0.isRequest } ?? ($0.id != nil) })
  }

  /// Removes the unacknowledged messages, which are sent again as new stanzas or not at all.
  mutating func removeMessages() -> [SentStanza] {
    let isMessage = { (stanza: SentStanza) in stanza.element?.name.local == "message" }
    defer { unacknowledged.removeAll(where: isMessage) }
    return Array(unacknowledged.lazy.filter(isMessage))
  }

  /// Removes the unacknowledged stanzas, which are sent again and counted anew on the new connection.
  mutating func removeUnacknowledged() -> [XMLElement] {
    defer { unacknowledged = [] }
    return unacknowledged.compactMap(\.element)
  }

  /// Prevents the session from being resumed.
  public mutating func end() { id = nil }

  /// Drops the location, where no server could be reached: the session is resumed at the account's own server.
  public mutating func forgetLocation() { location = nil }

  private mutating func settle(_ count: UInt32?) throws(MiscountError) -> [SentStanza] {
    guard isRestored, let count else { return try cover(count) }
    isRestored = false
    // A count up to half the range behind is old; a restored session does not know how much was sent.
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
  /// The part of the state that outlives the process.
  ///
  /// Of sent stanzas it has only the number, and the IDs of messages; the text is in the program's store.
  public struct Snapshot: Codable, Sendable, Equatable {
    public var id: String
    public var jid: JID
    public var handled: UInt32
    public var acknowledged: UInt32
    public var location: String?
    public var maximum: Int?
    /// One entry for each unacknowledged stanza; nil for all but messages.
    public var unacknowledged: [String?]

    fileprivate enum Key: String, CodingKey {
      case id, jid, handled, acknowledged, location, maximum, unacknowledged
    }
  }

  /// The snapshot; nil where the session cannot be resumed.
  ///
  /// - Parameter handled: the number of stanzas to record as handled; nil for the current one.
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
  /// Separates IDs, which are stored as one text, because there may be a thousand and snapshots are frequent.
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

  /// An ID that contains the separator is left out, as if the stanza had none.
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
  /// Whether the element is an IQ that expects an answer.
  fileprivate var isRequest: Bool { name.local == "iq" && ["get", "set"].contains(self["type"]) }
}
