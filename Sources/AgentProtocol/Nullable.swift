/// An optional property whose key is always written, with null for no value.
///
/// Scripts find every key in what they read. Without this wrapper, the key of an optional property without value is
/// absent.
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
    guard let value = value.wrappedValue else { return try encodeNil(forKey: key) }
    try encode(value, forKey: key)
  }

  // A coder needs several times as long for a generic value as for a string. Synthesised conformances choose these
  // methods.

  mutating func encode(_ value: Nullable<String>, forKey key: Key) throws {
    guard let value = value.wrappedValue else { return try encodeNil(forKey: key) }
    try encode(value, forKey: key)
  }

  mutating func encode<Value: Encodable & RawRepresentable<String>>(_ value: Value, forKey key: Key) throws {
    try encode(value.rawValue, forKey: key)
  }
}

extension KeyedDecodingContainer {
  func decode(_: Nullable<String>.Type, forKey key: Key) throws -> Nullable<String> {
    Nullable(wrappedValue: try decodeIfPresent(String.self, forKey: key))
  }

  func decode<Value: Decodable & RawRepresentable<String>>(
    _: Value.Type, forKey key: Key
  ) throws -> Value {
    let text = try decode(String.self, forKey: key)
    guard let value = Value(rawValue: text) else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "no such \(Value.self)")
    }
    return value
  }
}
