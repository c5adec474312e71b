/// An optional property whose key is always written: null where there is no value.
///
/// What scripts read has every key. An optional property without this wrapper is absent where there is no value.
@propertyWrapper
public struct Nullable<Value: Codable & Sendable>: Sendable {
  public var wrappedValue: Value?

  public init() {}
  public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }
}

extension Nullable: Equatable where Value: Equatable {}

extension Nullable: Codable {
  public init(from decoder: any Decoder) throws { wrappedValue = try Value?(from: decoder) }
  public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension KeyedDecodingContainer {
  func decode<Value>(_: Nullable<Value>.Type, forKey key: Key) throws -> Nullable<Value> {
    Nullable(wrappedValue: try decodeLocated(Value.self, forKey: key))
  }
}

extension KeyedEncodingContainer {
  mutating func encode<Value>(_ value: Nullable<Value>, forKey key: Key) throws {
    try encode(value.wrappedValue, forKey: key)
  }
}
