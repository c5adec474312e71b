import Foundation

/// The files of the directory Vectors.
enum Vectors {
  struct JIDs: Decodable {
    struct Valid: Decodable {
      let jid: String
      let local: String?
      let domain: String
      let resource: String?
    }
    struct Invalid: Decodable {
      let jid: String
      let code: String
    }
    let valid: [Valid]
    let invalid: [Invalid]
  }

  struct Profiles: Decodable {
    struct Case: Decodable {
      let text: String
      /// Nil when the profile does not allow the text.
      let result: String?
    }
    let usernames: [Case]
    let opaqueStrings: [Case]
  }

  static func read<Value: Decodable>(_ name: String) throws -> Value {
    let url = Bundle.module.bundleURL.appending(path: "Vectors/\(name).json")
    return try JSONDecoder().decode(Value.self, from: Data(contentsOf: url))
  }
}

extension String {
  /// Equality that no normalisation can make true.
  func isIdentical(to other: String?) -> Bool {
    other.map { utf8.elementsEqual($0.utf8) } ?? false
  }
}
