/// Resolves words by which users name recipients: JIDs, domains, and the names of contacts and bookmarked rooms.
///
/// A word with an `@` is a JID. A word without is the exact name of one contact or room, or else a domain with a dot; a
/// prefix `xmpp:` or a trailing dot marks a domain. Neither the recipient nor the account need be online. Fails with
/// `invalidParameter` for an unknown or ambiguous word; the failure names similar recipients.
public enum RecipientsResolveMethod: AgentMethod {
  public static let name = "recipients.resolve"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true

  /// The maximum number of words in a call.
  public static let maximumWords = 256

  public struct Parameters: AccountParameters, Equatable {
    /// Absent: the default account.
    public var account: String?
    public var words: [String]
    public init(account: String?, words: [String]) {
      self.account = account
      self.words = words
    }
    public func validate() throws(RPCError) {
      if !(1...maximumWords).contains(words.count) { throw .invalidParameter("words") }
    }
  }

  /// The JIDs in the order of the words.
  public typealias Result = [String]

  /// The JID that a word denotes regardless of contacts and rooms; nil if it may be a name.
  public static func jid(_ word: String) -> String? {
    let scheme = "xmpp:"
    if word.hasPrefix(scheme) { return withoutLastDot(String(word.dropFirst(scheme.count))) }
    if word.contains("@") { return word }
    return word.hasSuffix(".") && word != "." ? withoutLastDot(word) : nil
  }

  private static func withoutLastDot(_ word: String) -> String {
    word.count > 1 && word.hasSuffix(".") && !word.contains("@") ? String(word.dropLast()) : word
  }
}
