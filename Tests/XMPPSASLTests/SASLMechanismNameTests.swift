import Testing
import XMPPSASL

struct SASLMechanismNameTests {
  @Test(
    "A mechanism name that follows the grammar is printed as it is.",
    arguments: ["PLAIN", "SCRAM-SHA-512-PLUS", "X-OAUTH2", "A_1"])
  func wellFormed(raw: String) {
    #expect(SASLMechanismName(raw).isWellFormed)
    #expect("\(SASLMechanismName(raw))" == raw)
  }

  @Test(
    "A mechanism name that breaks the grammar is kept but never printed.",
    arguments: ["", "plain", "PLAIN ", "\u{1B}]8;;", "PLÄIN", "A\nB", "ABCDEFGHIJKLMNOPQRSTU"])
  func malformed(raw: String) {
    let name = SASLMechanismName(raw)
    #expect(!name.isWellFormed)
    #expect(name.rawValue == raw)
    #expect("\(name)" == "?")
  }

  @Test("A mechanism name shows whether it is a SCRAM mechanism and whether it binds the channel.")
  func families() {
    #expect(SASLMechanismName.scramSHA1.isSCRAM)
    #expect(SASLMechanismName("SCRAM-SHA3-512").isSCRAM)
    #expect(SASLMechanismName.scramSHA256Plus.bindsChannel)
    #expect(!SASLMechanismName.scramSHA256.bindsChannel)
    #expect(!SASLMechanismName.plain.isSCRAM)
  }
}
