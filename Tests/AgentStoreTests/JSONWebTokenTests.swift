import AgentProtocol
import Testing
import XMPPSASL

@testable import AgentStore

@Suite struct JSONWebTokenTests {
  /// RFC 7519 §3.1.
  static let published = """
    eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9\
    .eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ\
    .dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
    """

  static func token(claims: String, header: String = #"{"alg":"HS256"}"#) -> String {
    [header, claims, "signature"].map { encode($0) }.joined(separator: ".")
  }

  private static func encode(_ text: String) -> String {
    var encoded = ""
    for character in Base64.encode(Array(text.utf8)) where character != "=" {
      encoded.append(character == "+" ? "-" : character == "/" ? "_" : character)
    }
    return encoded
  }

  @Test("The example of RFC 7519 is read with its expiry and its issuer.")
  func example() throws {
    let token = try JSONWebToken(Self.published)
    #expect(token.expiry == 1_300_819_380 && token.issuer == "joe")
    #expect(token.isExpired(at: 1_300_819_380) && !token.isExpired(at: 1_300_819_379))
  }

  @Test("The claims that say for whom a token is issued are read.")
  func claims() throws {
    let token = try JSONWebToken(
      Self.token(claims: #"{"jid":"a@example.org","aud":["x","y"],"iss":"https://issuer","exp":1.5e9}"#))
    #expect(token.expiry == 1.5e9)
    #expect(token.destination == .login(.destination, "iss https://issuer, aud x y, jid a@example.org"))
    let bare = try JSONWebToken(Self.token(claims: "{}"))
    #expect(bare.expiry == nil && bare.destination == nil && !bare.isExpired(at: 4e9))
  }

  @Test(
    "The reason why a token is invalid is reported.",
    arguments: [
      ("", "1 segment"), ("abc", "1 segment"), ("a.b", "2 segments"), ("a.b.c.d", "4 segments"),
      ("a.b.c.d.e", "5 segments"), ("..", "header is not base64url"),
      ("!!.e30.e30", "header is not base64url"),
      ("e30.e3+.e30", "claims are not base64url"), ("e30.W10.e30", "claims are not a JSON object"),
      ("eA.e30.e30", "header is not a JSON object"), ("e30.eA.e30", "claims are not a JSON object"),
      ("e30.e30.", "signature is not base64url"), ("e30.e30.!", "signature is not base64url"),
      (Base64.encode(Array(published.utf8)), "base64-encoded once more"),
      (token(claims: #"{"exp":"soon"}"#), "exp is not a number"),
      (String(repeating: "a", count: 100_000), "1 segment"),
      (
        "e30." + token(claims: String(repeating: "[", count: 50_000)).split(separator: ".")[1] + ".e30",
        "JSON"
      ),
    ])
  func malformed(token: String, reason: String) {
    do throws(Failure) {
      _ = try JSONWebToken(token)
      Issue.record("accepted")
    } catch {
      #expect(error.name == .invalidToken && error.exit == 77 && error.code == 31_004)
      #expect(error.detail?.description.contains(reason) == true, "\(error)")
    }
  }

  @Test(
    "Quotes, spaces and line breaks around a token are removed.",
    arguments: [
      "\u{FEFF}x.y.z", "x.y.z\r\n", "\"x.y.z\"\n", "'x.y.z'", "  x.y.z \t", "\u{FEFF}\" x.y.z \"\n",
    ])
  func stripped(text: String) {
    #expect(JSONWebToken.stripped(text) == "x.y.z")
  }

  @Test("An expired token is reported before anything is sent, and so is an opaque token in place of a JWT.")
  func check() throws {
    let past = IssuedToken(token: Secret(Self.token(claims: #"{"exp":1000}"#)))
    for isJWT in [true, false] {
      do throws(Failure) {
        try past.check(isJWT: isJWT, at: 1000)
        Issue.record("accepted")
      } catch {
        #expect(error.name == .tokenExpired && error.exit == 79 && error.code == 31_020)
        #expect(error.detail == .login(.expired, "1970-01-01T00:16:40.000Z"))
      }
      try past.check(isJWT: isJWT, at: 999)
    }
    try IssuedToken(token: Secret("opaque")).check(isJWT: false, at: 0)
    #expect(throws: Failure.self) { try IssuedToken(token: Secret("opaque")).check(isJWT: true, at: 0) }
    let told = IssuedToken(token: Secret("opaque"), expires: "1970-01-01T00:16:40Z")
    #expect(throws: Failure.self) { try told.check(isJWT: false, at: 1001) }
  }
}
