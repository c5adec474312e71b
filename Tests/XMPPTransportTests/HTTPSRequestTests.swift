import Testing

@testable import XMPPTransport

@Suite struct HTTPSRequestTests {
  @Test(
    "An HTTPS address gives host, port and path; other addresses and addresses with a user are refused.")
  func addresses() {
    func place(_ url: String) -> String? {
      HTTPSRequest(url: url).map { "\($0.host) \($0.port) \($0.path)" }
    }
    #expect(place("https://im.example:5443/api/x?v=1") == "im.example 5443 /api/x?v=1")
    #expect(place("HTTPS://im.example") == "im.example 443 /")
    #expect(place("https://[::1]:5443/api") == "::1 5443 /api")
    #expect(place("https://im.example/a%20b") == "im.example 443 /a%20b")
    for wrong in [
      "http://im.example/api", "im.example:5443/api", "https:///api", "https://im.example:0/",
      "https://im.example:65536/", "https://alice@im.example/api", "https://im.example/api#x", "", "https://",
    ] {
      #expect(place(wrong) == nil, "\(wrong)")
    }
  }
}
