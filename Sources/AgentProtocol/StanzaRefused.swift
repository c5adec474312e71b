/// Fields of the event `stanzaRefused`: a stanza was more than the client takes, and nothing of it is kept. The server is
/// told that it has come.
public struct StanzaRefused: Codable, Sendable, Equatable {
  /// Full or bare JID of the sender; null where there was none, as of what the own server sends.
  @Nullable public var from: String?
  /// The sender's `id`.
  @Nullable public var id: String?
  /// Octets on the wire.
  public var size: Int
  /// What was too much, in English.
  public var reason: String

  public init(from: String?, id: String?, size: Int, reason: String) {
    self.from = from
    self.id = id
    self.size = size
    self.reason = reason
  }
}
