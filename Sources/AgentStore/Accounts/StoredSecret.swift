import XMPPSASL

/// A secret as `accounts.json` has it, the one place where any is written.
extension Secret: Codable {
  /// The text that the secret was made of; empty where it was no text.
  package var value: String { revealed() ?? "" }

  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}
