import Testing
import XMPPStanza

@Suite struct JIDEscapingTests {
  /// XEP-0106 §5, tables 3 and 4.
  static let published: [(String, String)] = [
    ("space cadet", #"space\20cadet"#),
    (#"call me "ishmael""#, #"call\20me\20\22ishmael\22"#),
    ("at&t guy", #"at\26t\20guy"#),
    ("d'artagnan", #"d\27artagnan"#),
    ("/.fanboy", #"\2f.fanboy"#),
    ("::foo::", #"\3a\3afoo\3a\3a"#),
    ("<foo>", #"\3cfoo\3e"#),
    ("user@host", #"user\40host"#),
    (#"c:\net"#, #"c\3a\net"#),
    (#"c:\\net"#, #"c\3a\\net"#),
    (#"c:\cool stuff"#, #"c\3a\cool\20stuff"#),
    (#"c:\5commas"#, #"c\3a\5c5commas"#),
    (#"\2plus\2is\4"#, #"\2plus\2is\4"#),
    (#"foo\bar"#, #"foo\bar"#),
    (#"foob\41r"#, #"foob\41r"#),
    (#"\3and\2is\5cool"#, #"\5c3and\2is\5c5cool"#),
  ]

  @Test("The examples of XEP-0106 are escaped and unescaped.", arguments: published)
  func examples(text: String, local: String) throws {
    #expect(try JIDEscaping.escape(text) == local)
    #expect(JIDEscaping.unescape(local) == text)
    #expect(try JID(local: local, domain: "example.com").local == local)
  }

  @Test(
    "An escaped text is unescaped to the same text.",
    arguments: ["user@mail.example", #"\\5c\20\"#, #"a\"#, #"\5"#, "é@ü", "a b  c", ""])
  func roundTrip(text: String) throws {
    #expect(JIDEscaping.unescape(try JIDEscaping.escape(text)) == text)
  }

  @Test("A space at either end of a text cannot be escaped, and is not unescaped.")
  func spaces() {
    #expect(throws: JIDError.self) { try JIDEscaping.escape(" a") }
    #expect(throws: JIDError.self) { try JIDEscaping.escape("a ") }
    #expect(JIDEscaping.unescape(#"\20a"#) == #"\20a"#)
    #expect(JIDEscaping.unescape(#"a\20"#) == #"a\20"#)
  }
}
