/// The desired presence in `accounts.json`, sent at login and after every reconnection: the fields of an
/// ``Availability``, and what follows on it.
package struct DesiredPresence: Codable, Sendable, Equatable {
  package var availability: Availability
  /// RFC 3339: the end of a temporary presence, at which `before` is restored.
  package var until: String?
  /// The presence before a temporary one.
  package var before: Availability?

  package init(_ availability: Availability, until: String? = nil, before: Availability? = nil) {
    self.availability = availability
    self.until = until
    self.before = before
  }

  private enum Key: String, CodingKey {
    case until, before
  }

  package init(from decoder: any Decoder) throws {
    availability = try Availability(from: decoder)
    let fields = try decoder.container(keyedBy: Key.self)
    until = try fields.decodeIfPresent(String.self, forKey: .until)
    before = try fields.decodeIfPresent(Availability.self, forKey: .before)
  }

  package func encode(to encoder: any Encoder) throws {
    try availability.encode(to: encoder)
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encodeIfPresent(until, forKey: .until)
    try fields.encodeIfPresent(before, forKey: .before)
  }
}
