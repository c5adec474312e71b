import AgentProtocol
import GRDB
import XMPPStanza

/// The names of contacts and bookmarked rooms, which resolve a word of the command line to a JID.
///
/// Pure, except for reading from the local store.
package struct KnownNames: Sendable {
  package struct Entry: Sendable {
    package var jid: String
    package var name: String?

    package init(jid: String, name: String? = nil) {
      self.jid = jid
      self.name = name
    }
  }

  /// The maximum number of similar names in an error.
  private static let maximumNear = 5

  private let entries: [Entry]

  package init(_ entries: [Entry]) { self.entries = entries }

  /// The names for an account's contacts and rooms, as last stored.
  ///
  /// - Parameter account: normalised bare JID.
  package init(of account: String, _ database: Database) throws {
    entries = try Row.fetchAll(
      database,
      sql: """
        SELECT jid, name FROM contacts WHERE account = ?1
        UNION SELECT jid, name FROM bookmarks WHERE account = ?1
        """, arguments: [account]
    ).map { Entry(jid: $0["jid"], name: $0["name"]) }
  }

  /// Reads the names without an agent; blocks on the disk. Does not create a database.
  package init(of account: String, at path: String) throws(Failure) {
    guard let database = try LocalStore.forReading(path) else {
      self.init([])
      return
    }
    do { self = try database.read { try KnownNames(of: account, $0) } } catch {
      throw LocalStore.failure(error, path)
    }
  }

  /// The names that are not empty, by JID.
  package var byJID: [String: String] {
    let named = entries.compactMap { entry in entry.name.flatMap { $0.isEmpty ? nil : (entry.jid, $0) } }
    return Dictionary(named) { first, _ in first }
  }

  /// The JID for a word, by the rules of ``RecipientsResolveMethod``.
  package func jid(_ word: String) throws(Failure) -> String {
    if let jid = RecipientsResolveMethod.jid(word) { return jid }
    let named = Set(entries.lazy.filter { $0.name == word }.map(\.jid)).sorted()
    if named.count == 1 { return named[0] }
    if !named.isEmpty {
      throw Self.failure(.session(.ambiguousName, word, Self.list(named)))
    }
    if word.prefix(while: { $0 != "/" }).contains("."), (try? JID(word)) != nil { return word }
    let near = near(word)
    throw Self.failure(
      near.isEmpty
        ? .session(.unknownName, word) : .session(.unknownNameNear, word, Self.list(near)))
  }

  private static func list(_ found: [String]) -> String {
    found.prefix(maximumNear).joined(separator: ", ") + (found.count > maximumNear ? ", …" : "")
  }

  private static func failure(_ detail: FailureDetail) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: detail)
  }

  /// The entries whose name or local part resembles the word, nearest first.
  private func near(_ word: String) -> [String] {
    let wanted = word.lowercased()
    var found: [(rank: Int, text: String)] = []
    for entry in entries {
      let local = String(entry.jid.prefix { $0 != "@" })
      let ranks = [entry.name, local].compactMap { $0.flatMap { Self.rank($0.lowercased(), wanted) } }
      guard let rank = ranks.min() else { continue }
      found.append((rank, entry.name.map { "\($0) (\(entry.jid))" } ?? entry.jid))
    }
    return found.sorted { ($0.rank, $0.text) < ($1.rank, $1.text) }.map(\.text)
  }

  /// The distance of two names; nil where they have little in common.
  private static func rank(_ name: String, _ wanted: String) -> Int? {
    if name == wanted { return 0 }
    if wanted.count > 1, name.hasPrefix(wanted) { return 1 }
    let (count, limit) = (wanted.count, min(2, wanted.count / 3))
    if count <= 40, abs(name.count - count) <= limit {
      let distance = Spelling.distance(name, wanted)
      if distance <= limit { return 1 + distance }
    }
    return count > 2 && name.contains(wanted) ? 4 : nil
  }
}
