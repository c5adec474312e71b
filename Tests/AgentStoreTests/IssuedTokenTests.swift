import AgentProtocol
import Testing
import XMPPSASL

@testable import AgentStore

@Suite struct IssuedTokenTests {
  private func read(_ text: String) throws(IssuedToken.Garbage) -> IssuedToken? {
    try IssuedToken(printed: Array(text.utf8), for: "a@example.org")
  }

  @Test(
    "A command prints its token as plain text or as a JSON object.",
    arguments: [
      ("secret\n", "secret", nil), ("\u{FEFF}\"secret\"", "secret", nil),
      (#"{"token":"secret"}"#, "secret", nil),
      (#"{"token":"secret","expires":null,"more":[1]}"#, "secret", nil),
      (
        #"{"token":" secret\n","expires":"2030-01-02T03:04:05Z","jid":"A@EXAMPLE.org/x"}"#, "secret",
        "2030-01-02T03:04:05Z"
      ),
      (
        #"{"token":"secret","expires":"2030-01-02T03:04:05.678+02:00"}"#, "secret",
        "2030-01-02T03:04:05.678+02:00"
      ),
    ] as [(String, String, String?)])
  func token(printed: String, token: String, expires: String?) throws {
    #expect(try read(printed) == IssuedToken(token: Secret(token), expires: expires))
  }

  @Test(
    "Empty output of a command is not a token.",
    arguments: ["", "\n", " \r\n", "\"\"", "{}", #"{"token":""}"#, #"{"token":null}"#])
  func empty(printed: String) throws {
    #expect(try read(printed) == nil)
  }

  @Test(
    "Any other output of a command is refused.",
    arguments: [
      "Error: not logged in", "a\nb", "a\u{0}b", "{", #"{"token":1}"#, #"{"token":"a b"}"#,
      #"{"token":"a","expires":"tomorrow"}"#, #"{"token":"a","expires":5}"#,
      #"{"token":"a","jid":"b@example.org"}"#, #"{"token":"a","jid":"@"}"#,
    ])
  func garbage(printed: String) {
    #expect(throws: IssuedToken.Garbage.self) { try read(printed) }
  }

  @Test("A JWT expires at the time in its claims if the command prints no other time.")
  func end() throws {
    let token = try #require(try read(JSONWebTokenTests.token(claims: #"{"exp":2000}"#)))
    #expect(token.isValid(at: 1999) && !token.isValid(at: 2000) && token.isExpired(at: 2000))
    let opaque = try #require(try read("opaque"))
    #expect(!opaque.isValid(at: 0) && !opaque.isExpired(at: 4e9) && opaque.end == nil)
    // Nothing that a token says makes a date that cannot be written.
    #expect(try read(JSONWebTokenTests.token(claims: #"{"exp":1e300}"#))?.expires == nil)
  }
}
