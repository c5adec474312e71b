import Testing

@testable import XMPPStanza

/// ASCII takes a short way that asks no Unicode table; it must decide as the long way does.
@Suite struct JIDPartsTests {
  @Test("The fast and the complete check of a local part have the same result.")
  func local() {
    for text in texts {
      #expect(LocalPart.plain(text[...]) == (try? LocalPart.full(text[...])), "\(text.debugDescription)")
    }
  }

  @Test("The fast and the complete check of a resource have the same result.")
  func resource() {
    for text in texts {
      #expect(
        ResourcePart.plain(text[...]) == (try? ResourcePart.full(text[...])), "\(text.debugDescription)")
    }
  }

  @Test(
    "The fast and the complete check of a domain agree, and the fast one declines A-labels and IPv6 addresses."
  )
  func domain() {
    for text in texts + domains where !text.contains("[") && !text.lowercased().contains("xn--") {
      #expect(DomainPart.plain(text[...]) == (try? DomainPart.full(text[...])), "\(text.debugDescription)")
    }
    for text in ["xn--fuball-cta", "a.XN--FUBALL-CTA", "[::1]"] {
      #expect(DomainPart.plain(text[...]) == nil)
    }
  }

  /// All texts of up to two ASCII characters, alone and between letters.
  private let texts: [String] = {
    let characters = (0..<128).compactMap { Unicode.Scalar($0).map(String.init) }
    let pairs = characters.flatMap { first in characters.map { first + $0 } }
    return [""] + characters + pairs + pairs.map { "a\($0)Z" }
  }()

  /// All texts of up to seven of the characters that matter in a domain, and those near the limits of length.
  private let domains: [String] = {
    var texts = [""]
    var all: [String] = []
    for _ in 0..<7 {
      texts = texts.flatMap { text in ["a", "-", "."].map { text + $0 } }
      all += texts
    }
    for length in [62, 63, 64] {
      let label = String(repeating: "b", count: length)
      all += [label, "\(label).", "a.\(label)", "\(label).a", "\(label).\(label).\(label).\(label)"]
    }
    for length in 250...256 {
      let name = String(repeating: "abcd.", count: 52).prefix(length)
      all += [String(name), "\(name)."]
    }
    return all
  }()

  @Test("A decomposed Hangul syllable in a local part or a resource is the same as the composed one.")
  func decomposedHangul() throws {
    let decomposed = "\u{1112}\u{1161}\u{11AB}"
    #expect(try JID("\(decomposed)@example.org/\(decomposed)") == JID("\u{D55C}@example.org/\u{D55C}"))
    // What makes no syllable stays refused.
    for lone in ["\u{1112}", "\u{11AB}\u{1112}"] {
      #expect(throws: JIDError.self) { try JID("\(lone)@example.org") }
      #expect(throws: JIDError.self) { try JID("example.org/\(lone)") }
    }
  }
}
