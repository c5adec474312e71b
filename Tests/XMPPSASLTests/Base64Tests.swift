import Testing
import XMPPSASL

struct Base64Tests {
  @Test(
    "The test vectors of RFC 4648 §10 are encoded and decoded.",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func vectors(text: String, encoded: String) {
    #expect(Base64.encode(bytes(text)) == encoded)
    #expect(Base64.decode(encoded) == bytes(text))
  }

  @Test(
    "Base64 that is not canonical is refused.",
    arguments: [
      "=", "====", "A", "QQ", "QQ=", "QQ===", "=QQ=", "QQ==A", "QQ==QQ==", "QR==", "QUJ=", " QQ==", "Q Q==",
      "QQ==\n", "QUJD\r\nQUJD", "QUJ-", "QU_D", "*QQ==", "QUJé", "QUJD\0", "ＱＵＪＤ",
    ])
  func refused(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test("Every byte value is the same after encoding and decoding.")
  func everyByte() {
    let all = Array(UInt8.min...UInt8.max)
    #expect(Base64.decode(Base64.encode(all)) == all)
  }
}
