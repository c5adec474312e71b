import AgentProtocol
import GRDB
import XMPPStanza

/// Which of the stored messages of an account are wanted.
package struct HistoryQuery: Sendable, Equatable {
  /// Normalised bare JID.
  package var account: String
  /// Only what was exchanged with this one: a bare JID, or the full JID of another device of the account.
  package var peer: String?
  /// Only messages that name this thread.
  package var thread: String?
  /// All of them are in the body or subject. Case and accents make no difference to whole words; words of scripts
  /// that have no spaces, and what is no word at all, are found anywhere in the text.
  package var words: [String] = []
  /// Each message once, as it is now: with the text of its newest correction, or as taken back. Otherwise the messages
  /// as they came, corrections and retractions among them.
  package var isFolded = false
  /// Seconds since 1970: not before, and before.
  package var after: Double?
  package var before: Double?
  /// The newest of them, this many.
  package var limit: Int
  /// The oldest of them instead.
  var isOldestFirst = false
  /// Only messages behind this place in the order in which they are wanted.
  package var place: Int64?

  package init(account: String, peer: String? = nil, limit: Int = 50) {
    self.account = account
    self.peer = peer
    self.limit = limit
  }

  /// The conversation that a JID names: a resource is one's own other device, or some device of another one.
  package static func peer(_ spelling: String, of account: String) throws(Failure) -> String {
    let jid = try JID(given: spelling)
    return jid.bare.description == account ? jid.description : jid.bare.description
  }

  /// Selects the places of the messages, newest first unless ``isOldestFirst``. Nothing of the query is in the text of the statement.
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
    // Which message a correction with the words belongs to is looked up when it has been found.
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
    // The order of the index is the one that is wanted: it is read only as far as needed.
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

  /// What was removed from a conversation is not shown.
  package static func isShown(_ messages: String = "messages") -> String {
    """
    NOT coalesce(\(messages).time <= (SELECT hiddenBefore FROM conversations
      WHERE conversations.account = \(messages).account AND conversations.jid = \(messages).peer), 0)
    """
  }

  /// The first place of the millisecond of a time, or of the next one.
  static func firstPlace(_ seconds: Double, _ rule: FloatingPointRoundingRule = .up) -> Int64 {
    let milliseconds = Int64(exactly: (min(max(seconds, 0), 8e9) * 1000).rounded(rule)) ?? 0
    return milliseconds * LocalStore.placesPerMillisecond
  }

  /// A word as FTS5 takes it for nothing but text.
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
  /// It has no spaces between words, or endings that belong to the word before: one word of the index is many.
  fileprivate var isUnspaced: Bool {
    unicodeScalars.contains { scalar in
      String.unspaced.contains { $0.contains(scalar.value) }
    }
  }

  /// Thai to Lao, Burmese, Khmer, Chinese and Japanese with their marks, Korean.
  private static let unspaced: [ClosedRange<UInt32>] = [
    0x0e00...0x0eff, 0x1000...0x109f, 0x1780...0x17ff, 0x2e80...0x2fdf, 0x3040...0x30ff, 0x3400...0x9fff,
    0xac00...0xd7af, 0xf900...0xfaff, 0x2_0000...0x3_ffff,
  ]
}

extension Unicode.Scalar {
  /// It is part of a word to the index.
  fileprivate var isIndexed: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber, .privateUse:
      true
    default: false
    }
  }
}
