import AgentProtocol
import GRDB
import XMPPStanza

/// A query for stored messages of an account.
package struct HistoryQuery: Sendable, Equatable {
  /// Normalised bare JID.
  package var account: String
  /// Only messages exchanged with this JID: a bare JID, or the full JID of another device of the account.
  package var peer: String?
  /// Only messages with this thread.
  package var thread: String?
  /// Words that must all occur in the body or subject. Whole words match without regard to case and accents; words of
  /// scripts without spaces, and other characters, match anywhere in the text.
  package var words: [String] = []
  /// Whether each message is returned once in its current form: with its newest correction, or as retracted. Otherwise
  /// messages, corrections and retractions are returned as they arrived.
  package var isFolded = false
  /// The range of times, in seconds since 1970: from `after` up to but excluding `before`.
  package var after: Double?
  package var before: Double?
  /// The maximum number of messages; the newest are returned.
  package var limit: Int
  /// Whether the oldest messages are returned instead.
  var isOldestFirst = false
  /// Only messages after this place, in the order of the result.
  package var place: Int64?

  package init(account: String, peer: String? = nil, limit: Int = 50) {
    self.account = account
    self.peer = peer
    self.limit = limit
  }

  /// The conversation for a JID. The resource matters only for other devices of the account.
  package static func peer(_ spelling: String, of account: String) throws(Failure) -> String {
    let jid = try JID(given: spelling)
    return jid.bare.description == account ? jid.description : jid.bare.description
  }

  /// Selects the places of the messages, newest first unless ``isOldestFirst``. All values are arguments, never part of
  /// the SQL.
  package var statement: (sql: String, arguments: StatementArguments) {
    let indexed = words.filter { $0.unicodeScalars.contains(where: \.isIndexed) && !$0.isUnspaced }
    let others = words.filter { !indexed.contains($0) }
    var conditions = ["messages.account = ?"]
    var arguments: [(any DatabaseValueConvertible)?] = [account]
    func add(_ condition: String, _ values: any DatabaseValueConvertible...) {
      conditions.append(condition)
      arguments += values
    }
    if let peer { add("messages.peer = ?", peer) }
    if let thread { add("messages.thread = ?", thread) }
    conditions.append(Self.isShown())
    // The corrected message of a matching correction is looked up after the search.
    if isFolded { conditions.append(words.isEmpty ? StoredMessage.isOfItsOwn : "messages.retracts IS NULL") }
    let place = indexed.isEmpty ? "messages.place" : "search.rowid"
    if let after { add("\(place) >= ?", Self.firstPlace(after)) }
    if let before { add("\(place) < ?", Self.firstPlace(before)) }
    if let last = self.place { add("\(place) \(isOldestFirst ? ">" : "<") ?", last) }
    if !indexed.isEmpty { add("search MATCH ?", indexed.map(Self.phrase).joined(separator: " ")) }
    for word in others {
      let pattern = Self.pattern(word)
      add(#"(messages.body LIKE ? ESCAPE '\' OR messages.subject LIKE ? ESCAPE '\')"#, pattern, pattern)
    }
    arguments.append(limit)
    // The index has the order of the result, so that it is read only as far as needed.
    let index =
      thread != nil ? "messagesByThread" : peer == nil ? "messagesByPlace" : "messagesByPeer"
    let table =
      indexed.isEmpty
      ? "messages INDEXED BY \(index)" : "search CROSS JOIN messages ON messages.place = search.rowid"
    let sql =
      "SELECT \(place) FROM \(table) WHERE \(conditions.joined(separator: " AND "))"
      + " AND \(place) IS NOT NULL ORDER BY \(place) \(isOldestFirst ? "ASC" : "DESC") LIMIT ?"
    return (sql, StatementArguments(arguments))
  }

  /// A condition that excludes messages that were removed from a conversation.
  package static func isShown(_ messages: String = "messages") -> String {
    """
    NOT coalesce(\(messages).time <= (SELECT hiddenBefore FROM conversations
      WHERE conversations.account = \(messages).account AND conversations.jid = \(messages).peer), 0)
    """
  }

  /// The first place within the millisecond of a time, rounded by `rule`.
  static func firstPlace(_ seconds: Double, _ rule: FloatingPointRoundingRule = .up) -> Int64 {
    let milliseconds = Int64(exactly: (min(max(seconds, 0), 8e9) * 1000).rounded(rule)) ?? 0
    return milliseconds * LocalStore.placesPerMillisecond
  }

  /// Quotes a word so that FTS5 takes it as plain text.
  private static func phrase(_ word: String) -> String {
    var quoted = "\""
    for scalar in word.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\"\""
      case "\0": quoted += " "
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  private static func pattern(_ word: String) -> String {
    var pattern = "%"
    for character in word.unicodeScalars {
      if ["%", "_", "\\"].contains(character) { pattern += "\\" }
      pattern.unicodeScalars.append(character)
    }
    return pattern + "%"
  }
}

extension String {
  /// Whether the script has no spaces between words, or joins endings to words, so that one word of the index contains
  /// several.
  fileprivate var isUnspaced: Bool {
    unicodeScalars.contains { scalar in
      String.unspaced.contains { $0.contains(scalar.value) }
    }
  }

  /// Thai to Lao, Burmese, Khmer, Chinese, Japanese and Korean, with their marks.
  private static let unspaced: [ClosedRange<UInt32>] = [
    0x0e00...0x0eff, 0x1000...0x109f, 0x1780...0x17ff, 0x2e80...0x2fdf, 0x3040...0x30ff, 0x3400...0x9fff,
    0xac00...0xd7af, 0xf900...0xfaff, 0x2_0000...0x3_ffff,
  ]
}

extension Unicode.Scalar {
  /// Whether the index regards the character as part of a word.
  fileprivate var isIndexed: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber, .privateUse:
      true
    default: false
    }
  }
}
