/// Whom words mean that a user calls recipients by: JIDs, domains, and the names of contacts and bookmarked rooms.
///
/// A word with an `@` is a JID. One without is the exact name of one contact or room, or else a domain with a dot; `xmpp:`
/// in front or a dot at the end says that it is a domain. Whoever is meant need not be online, nor the account.
/// `invalidParameter` where nobody is meant, or more than one: with those that come close.
public enum RecipientsResolveMethod: AgentMethod {
  public static let name = "recipients.resolve"
  public static let isQuestion = true
  public static let isIdempotent = true

  /// Words of one call.
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

  /// JIDs, in the order of the words.
  public typealias Result = [String]

  /// What a word means without a look at the names; nil: they have to be looked at.
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
