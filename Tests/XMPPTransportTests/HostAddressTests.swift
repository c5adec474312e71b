import Testing
import XMPPTransport

@Suite struct HostAddressTests {
  @Test(
    "A host address is read with and without a port.",
    arguments: [
      ("im.example", "im.example", nil), ("im.example:5222", "im.example", 5222),
      ("im.example.", "im.example", nil), ("im.example.:1", "im.example", 1),
      ("xn--bcher-kva.example:65535", "xn--bcher-kva.example", 65_535), ("a_b.example", "a_b.example", nil),
      ("192.0.2.1", "192.0.2.1", nil), ("192.0.2.1:5222", "192.0.2.1", 5222),
      ("[2001:db8::1]", "2001:db8::1", nil), ("[2001:db8::1]:5222", "2001:db8::1", 5222),
      ("2001:db8::1", "2001:db8::1", nil), ("localhost", "localhost", nil),
    ] as [(String, String, Int?)])
  func forms(text: String, host: String, port: Int?) {
    let address = HostAddress(text)
    #expect(address?.host == host)
    #expect(address?.port == port)
  }

  @Test(
    "A text that is not a host address is refused.",
    arguments: [
      "", " ", ".", "..", "a..b", ":5222", "im.example:", "im.example:0", "im.example:65536",
      "im.example:99999999999999999999", "im.example:-1", "im.example:+1", "im.example:5222:5222",
      "im.example:5a",
      "im.example: 5222", "im example", " im.example", "im.example\n", "im.example\0", "user@im.example",
      "im.example/path", "xmpp://im.example", "[im.example]", "[192.0.2.1]", "[2001:db8::1",
      "2001:db8::1]:5222",
      "[2001:db8::1]5222", "[2001:db8::1]:", "[]:1", "[fe80::1%eth0]", "256.1.1.1", "1.2.3", "127.1", "1",
      "bücher.example", "ｉｍ.example", "a\u{202E}b.example", String(repeating: "a", count: 64) + ".example",
      String(repeating: "a.", count: 130) + "example", String(repeating: "9", count: 1_000_000),
    ])
  func garbage(text: String) {
    #expect(HostAddress(text) == nil)
  }
}
