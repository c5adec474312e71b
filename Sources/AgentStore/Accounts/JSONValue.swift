import FoundationEssentials

/// Any JSON value: the contents of keys in `accounts.json` that this version does not know.
package enum JSONValue: Sendable, Equatable, Codable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number that is not an `Int64`, to 38 digits.
  case decimal(Decimal)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  package init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? value.decode(Int64.self) {
      self = .integer(integer)
    } else if let decimal = try? value.decode(Decimal.self) {
      self = .decimal(decimal)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let string = try? value.decode(String.self) {
      self = .string(string)
    } else if let array = try? value.decode([JSONValue].self) {
      self = .array(array)
    } else {
      self = .object(try value.decode([String: JSONValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .integer(let integer): try container.encode(integer)
    case .decimal(let decimal): try container.encode(decimal)
    case .number(let number): try container.encode(number)
    case .string(let string): try container.encode(string)
    case .array(let array): try container.encode(array)
    case .object(let object): try container.encode(object)
    }
  }
}

/// A key of an object with unknown keys.
struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// The fields whose keys are not among `known`.
  func otherFields(than known: [some CodingKey]) throws -> [String: JSONValue] {
    let fields = try container(keyedBy: AnyKey.self)
    let known = Set(known.map(\.stringValue))
    var others: [String: JSONValue] = [:]
    for key in fields.allKeys where !known.contains(key.stringValue) {
      others[key.stringValue] = try fields.decode(JSONValue.self, forKey: key)
    }
    return others
  }
}

extension Encoder {
  package func encode(otherFields: [String: JSONValue]) throws {
    var fields = container(keyedBy: AnyKey.self)
    for (key, value) in otherFields { try fields.encode(value, forKey: AnyKey(stringValue: key)) }
  }
}
