import Testing
import XMPPTransport

@Suite struct ProxyAddressTests {
  @Test(
    "A proxy address is a URL with a kind, a host, a port and a user.",
    arguments: [
      ("socks5h://proxy.example:9050", .socks5, "proxy.example", 9050, nil),
      ("socks5://proxy.example", .socks5, "proxy.example", 1080, nil),
      ("SOCKS5H://[::1]:1/", .socks5, "::1", 1, nil), ("http://192.0.2.1", .http, "192.0.2.1", 80, nil),
      ("http://alice@proxy.example:3128", .http, "proxy.example", 3128, "alice"),
      ("socks5h://al%40ice%3A@proxy.example", .socks5, "proxy.example", 1080, "al@ice:"),
    ] as [(String, ProxyAddress.Kind, String, Int, String?)])
  func forms(url: String, kind: ProxyAddress.Kind, host: String, port: Int, user: String?) throws {
    let proxy = try ProxyAddress(url)
    #expect(proxy.kind == kind)
    #expect(proxy.host == host)
    #expect(proxy.port == port)
    #expect(proxy.user == user)
  }

  @Test("A proxy address with a password is refused, and the error does not repeat the password.")
  func password() {
    for url in [
      "socks5h://alice:hunter2@proxy.example", "http://:hunter2@proxy.example:1", "ftp://a:hunter2@b",
    ] {
      let error = #expect(throws: TransportError.self) { try ProxyAddress(url) }
      #expect(error?.code == .invalidConfiguration)
      #expect(error?.message.contains("hunter2") == false)
    }
    let error = #expect(throws: TransportError.self) { try ProxyAddress("http://alice:@proxy.example") }
    #expect(error?.message.contains("--proxy-password-command") == true)
  }

  @Test(
    "A text that is not a proxy address is refused.",
    arguments: [
      "", "proxy.example", "proxy.example:1080", "https://proxy.example", "socks4://proxy.example",
      "socks5h://", "http://proxy.example:0", "http://proxy.example:65536", "http://proxy.example/path",
      "http://proxy.example?a", "http://proxy.example#a", "http://a b.example", "http://@proxy.example",
      "http://a%3Ab@proxy.example", "http://a%00b@proxy.example", "http://a%0D%0Ab@proxy.example",
      "socks5h://\(String(repeating: "a", count: 256))@proxy.example", "http://bücher.example",
    ])
  func garbage(url: String) {
    #expect(throws: TransportError.self) { try ProxyAddress(url) }
  }
}
