/// A property with a default value for when its key is absent from the JSON, or null.
///
///     @Default<Seconds<30>> public var timeout: Double
@propertyWrapper
public struct Default<Source: DefaultValue>: Sendable {
  public var wrappedValue: Source.Value

  public init() { wrappedValue = Source.defaultValue }
  public init(wrappedValue: Source.Value) { self.wrappedValue = wrappedValue }
}

/// The default value of a property whose key is absent.
public protocol DefaultValue {
  associatedtype Value: Codable & Sendable & Equatable
  static var defaultValue: Value { get }
}

public enum False: DefaultValue {
  public static let defaultValue = false
}

public enum True: DefaultValue {
  public static let defaultValue = true
}

public enum Seconds<let count: Int>: DefaultValue {
  public static var defaultValue: Double { Double(count) }
}

/// An empty list of strings.
public enum NoStrings: DefaultValue {
  public static let defaultValue: [String] = []
}

extension Default: Equatable {}

extension Default: Codable {
  public init(from decoder: any Decoder) throws { wrappedValue = try Source.Value(from: decoder) }
  public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension KeyedDecodingContainer {
  func decode<Source>(_: Default<Source>.Type, forKey key: Key) throws -> Default<Source> {
    Default(wrappedValue: try decodeLocated(Source.Value.self, forKey: key) ?? Source.defaultValue)
  }

  // The errors of the standard library's methods for numbers out of range do not name the key. These methods replace
  // them.

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try decodeLocated(type, forKey: key)
  }

  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try decodeLocated(type, forKey: key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try decodeLocated(type, forKey: key)
  }

  /// Like `decodeIfPresent`, but every error names the key.
  func decodeLocated<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    do {
      return try decodeIfPresent(type, forKey: key)
    } catch  where !(error is DecodingError) {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "no such number")
    }
  }
}

extension KeyedEncodingContainer {
  mutating func encode<Source>(_ value: Default<Source>, forKey key: Key) throws {
    try encode(value.wrappedValue, forKey: key)
  }
}
