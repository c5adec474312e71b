import FoundationEssentials
import Testing

@testable import XMPPSASL

struct FASTTokenTests {
  private static let word = "secret-token:fast-Oeie4nuqu2IeLai5fooz"

  @Test("A stored token is decoded as it was encoded.", arguments: [nil, "2026-12-24T14:36:15Z"])
  func roundTrip(expiry: String?) throws {
    let token = FASTToken(mechanism: .htSHA256Exporter, secret: Secret(Self.word), expiry: expiry)
    #expect(try JSONDecoder().decode(FASTToken.self, from: JSONEncoder().encode(token)) == token)
  }

  @Test("A printed token does not show its secret.")
  func silence() {
    let token = FASTToken(mechanism: .htSHA256None, secret: Secret(Self.word))
    expectSilence(of: token, about: Self.word)
    expectSilence(of: [token], about: Self.word)
    expectSilence(of: Optional(token) as Any, about: Self.word)
  }

  @Test(
    "A stored token with an invalid field is refused.",
    arguments: [
      ("mechanism", "\"\""), ("mechanism", "\"\\u001b\""), ("mechanism", "null"), ("secret", "\"\""),
      ("secret", "\"*\""), ("secret", "7"), ("expiry", "7"),
    ])
  func damaged(field: String, value: String) throws {
    var fields = ["mechanism": "\"HT-SHA-256-NONE\"", "secret": "\"AQID\"", "expiry": "null"]
    func decode() throws -> FASTToken {
      let json = "{" + fields.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ") + "}"
      return try JSONDecoder().decode(FASTToken.self, from: Data(json.utf8))
    }
    #expect(try decode() == FASTToken(mechanism: .htSHA256None, secret: Secret(bytes: [1, 2, 3])))
    fields[field] = value
    #expect(throws: DecodingError.self) { try decode() }
  }
}
