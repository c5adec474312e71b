import Foundation
import Testing

@testable import XMPPStanza

@Suite struct PRECISTests {
  @Test("UsernameCaseMapped has the results of the examples in RFC 8265.")
  func usernames() throws {
    let vectors: Vectors.Profiles = try Vectors.read("rfc8265")
    for vector in vectors.usernames {
      let result = try? PRECIS.username(vector.text)
      #expect(result == vector.result, "\(vector.text)")
    }
  }

  @Test("OpaqueString has the results of the examples in RFC 8265.")
  func opaqueStrings() throws {
    let vectors: Vectors.Profiles = try Vectors.read("rfc8265")
    for vector in vectors.opaqueStrings {
      let result = try? PRECIS.opaqueString(vector.text)
      #expect(result == vector.result, "\(vector.text)")
    }
  }

  @Test("Both profiles leave their own results unchanged for every code point.")
  func stability() {
    for scalar in scalars {
      if let result = try? PRECIS.username(String(scalar)) {
        #expect((try? PRECIS.username(result)).map(result.isIdentical) == true, "\(scalar.value)")
      }
      if let result = try? PRECIS.opaqueString(String(scalar)) {
        #expect((try? PRECIS.opaqueString(result)).map(result.isIdentical) == true, "\(scalar.value)")
      }
    }
  }

  @Test("An independent normaliser agrees that no compatibility character is valid in an identifier.")
  func compatibility() {
    var count = 0
    for scalar in scalars where scalar.precisClass == .valid {
      let text = String(scalar)
      // The six exceptions of RFC 8264 §9.6 need none of the properties.
      #expect(text.precomposedStringWithCompatibilityMapping.isIdentical(to: text), "\(scalar.value)")
      count += 1
    }
    #expect(count > 100_000)
  }

  @Test("The derived properties are those of the examples in RFC 8264 and RFC 5892.")
  func classes() {
    let identifiers: [Unicode.Scalar] = [
      "!", "~", "A", "ß", "ς", "۽", "་", "〇", "é", "א", "中", "\u{0301}", "०",
    ]
    let freeform: [Unicode.Scalar] = [
      " ", "Ⅳ", "ﬁ", "♚", "∞", "ǅ", "\u{1680}", "€", "«", "①", "ａ", "\u{20DD}", "\u{2126}",
    ]
    let contextual: [Unicode.Scalar] = ["\u{200C}", "\u{200D}", "·", "͵", "׳", "״", "・", "٠", "۹"]
    let disallowed: [Unicode.Scalar] =
      [
        "\0", "\u{1F}", "\u{7F}", "\u{80}", "\u{AD}", "ـ", "ߺ", "〮", "〱", "〻", "\u{1100}", "\u{1161}",
        "\u{11A8}",
        "\u{200B}", "\u{202E}", "\u{2066}", "\u{2028}", "\u{FEFF}", "\u{E0001}", "\u{E0FFF}",
      ] + [0xE000, 0xFDD0, 0x10FFFF].compactMap(Unicode.Scalar.init)
    for scalar in identifiers { #expect(scalar.precisClass == .valid, "\(scalar.value)") }
    for scalar in freeform { #expect(scalar.precisClass == .freeform, "\(scalar.value)") }
    for scalar in contextual { #expect(scalar.precisClass == .contextual, "\(scalar.value)") }
    for scalar in disallowed { #expect(scalar.precisClass == .disallowed, "\(scalar.value)") }
    for scalar in contextual { #expect(scalar.idnaClass == .contextual, "\(scalar.value)") }
    for scalar in disallowed + freeform + ["!", "A", "_", "\u{1D165}"] {
      #expect(scalar.idnaClass == .disallowed, "\(scalar.value)")
    }
    for scalar in identifiers.dropFirst(3) + ["-", "0", "z"] {
      #expect(scalar.idnaClass == .valid, "\(scalar.value)")
    }
  }

  /// Every code point that is assigned, but for the private ones.
  private var scalars: some Sequence<Unicode.Scalar> {
    (UInt32(0)...0x10FFFF).lazy.compactMap(Unicode.Scalar.init).filter {
      $0.properties.generalCategory != .unassigned && $0.properties.generalCategory != .privateUse
    }
  }
}
