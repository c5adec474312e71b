import Testing

@testable import XMPPStanza

@Suite struct JIDFileNameTests {
  @Test("An ordinary account is recognised in its file name.")
  func ordinary() throws {
    #expect(try JID("Alice@example.com/phone").fileName == "alice@example.com")
    #expect(try JID("a.b-c_d@example.com").fileName == "a.b-c_d@example.com")
    #expect(try JID("example.com").fileName == "example.com")
    #expect(try JID("a@[::1]").fileName == "a@%5b%3a%3a1%5d")
  }

  @Test("Hostile accounts have safe file names that differ even where case is ignored.")
  func hostile() throws {
    let long = String(repeating: "a", count: 1022)
    let locals = [
      "a", "b", ".", "..", "...", ".a", "-rf", "--", "a..b", "%2e", "%", "%25", "$(id)", "`id`", "a;b", "a|b",
      "a*", "a?", "a\\b", "\\", "~", "~a", "a~b", "con", "nul", "ß", "ss", "ſ", "İ", "i", "ı", "é", "e",
      "аlice",
      "alice", "אבג", "ابج", "中文", "\(long)a", "\(long)b", String(repeating: "%", count: 1023),
      String(repeating: "中", count: 341), String(repeating: "a", count: 188),
      String(repeating: "a", count: 189),
      String(repeating: "a", count: 190),
    ]
    var names: Set<String> = []
    var accounts: Set<JID> = []
    for local in locals {
      guard let jid = try? JID("\(local)@example.com") else { continue }
      let name = jid.fileName
      accounts.insert(jid)
      names.insert(name.lowercased())
      #expect(1...200 ~= name.utf8.count)
      #expect(name.utf8.first != UInt8(ascii: ".") && name.utf8.first != UInt8(ascii: "-"))
      #expect(
        name.unicodeScalars.allSatisfy {
          "abcdefghijklmnopqrstuvwxyz0123456789@._-%~".unicodeScalars.contains($0)
        })
    }
    #expect(accounts.count > 40)
    #expect(names.count == accounts.count)
  }

  @Test("A file name that would be too long ends in a digest of the complete name.")
  func long() throws {
    let local = String(repeating: "a", count: 188)
    #expect(try JID("\(local)@example.com").fileName == "\(local)@example.com")
    let name = try JID("a\(local)@example.com").fileName
    #expect(name.utf8.count == 128 + 1 + 64)
    // printf '%s' "$name" | sha256sum
    #expect(name.hasSuffix("~dccf68e8d4fc284bb55784a539850cbe8fb7770154ab6ac86dcb853125e78c0d"))
  }
}
