import XMPPSASL

/// The encoding of a secret in `accounts.json`, the only place where secrets are written.
extension Secret: Codable {
  /// The text of the secret; empty where it is not text.
  package var value: String { revealed() ?? "" }

  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
