import Foundation
import Testing

@testable import XMPPStanza

@Suite struct JIDTests {
  @Test("A valid JID has the parts that its test vector names.", arguments: ["rfc7622", "jids"])
  func valid(file: String) throws {
    let vectors: Vectors.JIDs = try Vectors.read(file)
    #expect(vectors.valid.count > 10)
    for vector in vectors.valid {
      let comment = Comment(rawValue: vector.jid.debugDescription)
      let jid = try #require(try? JID(vector.jid), comment)
      #expect(jid.domain.isIdentical(to: vector.domain), comment)
      #expect(jid.local.map { Array($0.utf8) } == vector.local.map { Array($0.utf8) }, comment)
      #expect(jid.resource.map { Array($0.utf8) } == vector.resource.map { Array($0.utf8) }, comment)
      #expect(try JID(jid.description) == jid, comment)
      #expect(try JID(local: vector.local, domain: vector.domain, resource: vector.resource) == jid, comment)
    }
  }

  @Test("An invalid JID is refused with a reason.", arguments: ["rfc7622", "jids"])
  func invalid(file: String) throws {
    let vectors: Vectors.JIDs = try Vectors.read(file)
    #expect(vectors.invalid.count > 5)
    for vector in vectors.invalid {
      let error = #expect(throws: JIDError.self, "\(vector.jid.debugDescription)") { try JID(vector.jid) }
      #expect(error?.code.rawValue == vector.code, "\(vector.jid.debugDescription)")
      #expect(error?.message.utf8.allSatisfy { 0x20...0x7E ~= $0 } == true)
    }
  }

  @Test("A part of a JID has at most 1023 octets after enforcement.")
  func lengths() throws {
    let letters = String(repeating: "a", count: 1023)
    let jid = try JID("\(letters)@example.com/\(letters)")
    #expect(jid.local == letters && jid.resource == letters)
    #expect(code("\(letters)a@example.com") == .localTooLong)
    #expect(code("example.com/\(letters)a") == .resourceTooLong)
    #expect(message("\(letters)a@example.com") == "local part is longer than 1023 octets")

    let accented = String(repeating: "é", count: 511)
    #expect(try JID("\(accented)a@example.com/\(accented)a").local?.utf8.count == 1023)
    #expect(code("\(accented)é@example.com") == .localTooLong)
    #expect(code("example.com/\(accented)é") == .resourceTooLong)

    let wide = String(repeating: "ａ", count: 1023)
    #expect(try JID("\(wide)@example.com").local == letters)
    #expect(code("\(wide)ａ@example.com") == .localTooLong)

    let endless = String(repeating: "é", count: 1_000_000)
    #expect(code("\(endless)@example.com") == .localTooLong)
    #expect(code("a@\(endless)") == .domainTooLong)
    #expect(code("example.com/\(endless)") == .resourceTooLong)
  }

  @Test("A domain and its labels have at most the length that DNS allows.")
  func domainLengths() throws {
    let label = String(repeating: "a", count: 63)
    let longest = "\(label).\(label).\(label).\(label.dropLast(2))"
    #expect(try JID(longest).domain.utf8.count == 253)
    #expect(try JID(longest + ".").domain == longest)
    #expect(code(longest + "a") == .domainTooLong)
    #expect(code(label + "a.example") == .domainTooLong)
    // 56 letters and "xn--" and what encodes the last one.
    let international = String(repeating: "a", count: 40) + "ü"
    #expect(try JID(international).asciiDomain.hasPrefix("xn--"))
    #expect(code(String(repeating: "a", count: 58) + "ü") == .domainTooLong)
  }

  @Test("Accounts that look alike are different accounts.")
  func lookAlikes() throws {
    // Cyrillic а in the first; dotless ı, sharp s, final sigma and the accent are letters of their own.
    for (left, right) in [
      ("аlice", "alice"), ("mıke", "mike"), ("İ", "i"), ("straße", "strasse"), ("ς", "σ"), ("café", "cafe"),
      ("l", "1"),
    ] {
      #expect(try JID("\(left)@example.com") != JID("\(right)@example.com"))
      #expect(try JID("\(left)@example.com").fileName != JID("\(right)@example.com").fileName)
    }
    #expect(try JID("a@еxample.com") != JID("a@example.com"))
  }

  @Test("Different spellings of one JID are equal and have the same hash.")
  func spellings() throws {
    let spellings = ["Café@BÜCHER.example.", "cafe\u{301}@xn--bcher-kva.example", "ＣＡＦÉ@bücher.EXAMPLE"]
    #expect(try Set(spellings.map { try JID($0) }).count == 1)
    #expect(try JID("a@example.com/R") != JID("a@example.com/r"))
  }

  @Test("The domain for DNS consists of A-labels.")
  func asciiDomain() throws {
    #expect(try JID("a@Bücher.example").asciiDomain == "xn--bcher-kva.example")
    #expect(try JID("a@faß.example").asciiDomain == "xn--fa-hia.example")
    #expect(try JID("a@例子.测试").asciiDomain == "xn--fsqu00a.xn--0zwm56d")
    #expect(try JID("a@Example.com").asciiDomain == "example.com")
    #expect(try JID("a@[::1]").asciiDomain == "[::1]")
  }

  @Test("A JID gives its parts and is created from its parts.")
  func parts() throws {
    let full = try JID("Romeo@example.net/orchard")
    #expect(full.bare == (try JID("romeo@example.net")))
    #expect(full.bare.isBare && !full.isBare)
    #expect(full.description == "romeo@example.net/orchard")
    #expect(try full.with(resource: "home/a@b").description == "romeo@example.net/home/a@b")
    #expect(throws: JIDError.self) { try full.with(resource: "") }
    #expect(throws: JIDError.self) { try full.with(resource: "\u{1B}") }
    #expect(throws: JIDError.self) { try JID(local: "a@b", domain: "example.com") }
    #expect(throws: JIDError.self) { try JID(local: "a/b", domain: "example.com") }
    #expect(throws: JIDError.self) { try JID(local: "a", domain: "b@example.com") }
    #expect(throws: JIDError.self) { try JID(local: "a", domain: "example.com/r") }
    #expect(throws: JIDError.self) { try JID(local: "", domain: "example.com") }
  }

  @Test("JIDs are sorted by domain first, then by local part, then by resource.")
  func order() throws {
    let sorted = ["a.example", "a.example/r", "a@a.example", "b@a.example", "b@a.example/r", "a@b.example"]
    #expect(try sorted.reversed().map { try JID($0) }.sorted().map(\.description) == sorted)
  }

  @Test("A JID is encoded as a string and enforced when it is decoded.")
  func coding() throws {
    let jids = [try JID("a@example.com/r"), try JID("example.com")]
    let data = try JSONEncoder().encode(jids)
    #expect(try JSONDecoder().decode([String].self, from: data) == jids.map(\.description))
    #expect(try JSONDecoder().decode([JID].self, from: data) == jids)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([JID].self, from: Data(#"["a@"]"#.utf8))
    }
  }

  @Test("The error of an invalid JID says in words what is wrong.")
  func messages() {
    #expect(message("alice@") == "no domain")
    #expect(message("@example.com") == "there is nothing before the @")
    #expect(message("a@example.com/") == "there is nothing after the /")
    #expect(message("a b@example.com") == "local part contains a space")
    #expect(message("a&b@example.com") == "local part contains the character &")
    #expect(message("a\u{202E}@example.com") == "local part contains the character U+202E")
    #expect(message("a@b_c") == "domain contains the character _")
    #expect(message("a@-b") == "domain has a label that begins or ends with a hyphen")
    #expect(message("a@[x]") == "domain is not an IPv6 address in brackets")
  }

  private func code(_ string: String) -> JIDError.Code? { failure(string)?.code }
  private func message(_ string: String) -> String? { failure(string)?.message }
  private func failure(_ string: String) -> JIDError? {
    do throws(JIDError) {
      _ = try JID(string)
      return nil
    } catch {
      return error
    }
  }
}
