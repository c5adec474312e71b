import FoundationEssentials
import Testing

@testable import XMPPSASL

struct SCRAMKeysTests {
  private func keys(_ hash: Digest = .sha256) throws -> SCRAMKeys {
    try SCRAMKeyRequest(hash: hash, salt: [1, 2, 3], iterations: 4096, password: Secret("pencil")).derive()
  }

  @Test("Stored keys are decoded as they were encoded.", arguments: Digest.allCases)
  func roundTrip(hash: Digest) throws {
    let keys = try keys(hash)
    #expect(keys.clientKey.count == hash.byteCount)
    #expect(try JSONDecoder().decode(SCRAMKeys.self, from: JSONEncoder().encode(keys)) == keys)
  }

  @Test("Printed keys do not show their secrets.")
  func silence() throws {
    let keys = try keys()
    let text = keys.clientKey.withBytes { Base64.encode($0) }
    var printed = "\(keys)" + String(reflecting: keys)
    dump(keys, to: &printed)
    #expect(!printed.contains(text))
    #expect(printed.contains("<secret>"))
  }

  @Test(
    "Stored keys with a field that no derivation can produce are refused.",
    arguments: [
      ("hash", "\"MD5\""), ("salt", "\"\""), ("salt", "\"*\""), ("iterations", "1"),
      ("iterations", "1000001"),
      ("clientKey", "\"AAAA\""), ("serverKey", "\"AAAA\""), ("serverKey", "null"),
    ])
  func damaged(field: String, value: String) throws {
    let key = Base64.encode([UInt8](repeating: 7, count: 32))
    var fields = [
      "hash": "\"SHA-256\"", "salt": "\"AQID\"", "iterations": "4096", "clientKey": "\"\(key)\"",
      "serverKey": "\"\(key)\"",
    ]
    func decode() throws -> SCRAMKeys {
      let json = "{" + fields.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ") + "}"
      return try JSONDecoder().decode(SCRAMKeys.self, from: Data(json.utf8))
    }
    #expect(try decode().salt == [1, 2, 3])
    fields[field] = value
    #expect(throws: DecodingError.self) { try decode() }
  }

  @Test(
    "A key request with an iteration count out of bounds is refused.",
    arguments: [Int.min, 0, 1, 4095, 1_000_001, 2_147_483_648, Int.max])
  func bounds(iterations: Int) {
    #expect {
      try SCRAMKeyRequest(hash: .sha1, salt: [1], iterations: iterations, password: Secret("pencil"))
    } throws: {
      ($0 as? SASLError)?.code == .iterationsOutOfRange
    }
  }
}
