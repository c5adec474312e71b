/// Fields of the event `stanzaRefused`: a stanza exceeded the client's limits and was discarded. The server was told
/// that it was received.
public struct StanzaRefused: Codable, Sendable, Equatable {
  /// The full or bare JID of the sender; null if there was none, as in stanzas from the account's server.
  @Nullable public var from: String?
  /// The stanza's `id`.
  @Nullable public var id: String?
  /// The size on the wire in octets.
  public var size: Int
  /// The limit that was exceeded, in English.
  public var reason: String

  public init(from: String?, id: String?, size: Int, reason: String) {
    self.from = from
    self.id = id
    self.size = size
    self.reason = reason
  }
}
