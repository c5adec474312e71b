import Testing

@testable import XMPPSASL

struct SecretTests {
  private static let word = "hunter2-πßå"

  @Test("A printed secret does not show its content, whichever way it is printed.")
  func silence() throws {
    let secret = Secret(Self.word)
    #expect("\(secret)" == "<secret>")
    expectSilence(of: secret, about: Self.word)
    expectSilence(of: [secret], about: Self.word)
    expectSilence(of: ["key": secret], about: Self.word)
    var credentials = SASLCredentials(authcid: "user", password: secret)
    credentials.bearerToken = secret
    credentials.fastToken = FASTToken(mechanism: .htSHA256None, secret: secret)
    credentials.loginExtension = Self.word
    expectSilence(of: credentials, about: Self.word)
    expectSilence(of: [credentials], about: Self.word)
    #expect("\(credentials)" == "credentials of user")
    let request = try SCRAMKeyRequest(hash: .sha256, salt: [1, 2], iterations: 4096, password: secret)
    expectSilence(of: request, about: Self.word)
    expectSilence(of: SASLStep.derive(request), about: Self.word)
    expectSilence(of: SASLStep.respond(bytes(Self.word)), about: Self.word)
  }

  @Test("A secret can be read back by its owner.")
  func content() {
    #expect(Secret(Self.word).revealed() == Self.word)
    #expect(Secret(Self.word).count == Self.word.utf8.count)
    #expect(Secret("").isEmpty)
    #expect(Secret("").revealed() == "")
    #expect(Secret(bytes: [0xFF]).revealed() == nil)
  }

  @Test("Two secrets are equal if their bytes are equal.")
  func equality() {
    #expect(Secret("abc") == Secret(bytes: [0x61, 0x62, 0x63]))
    #expect(Secret("abc") != Secret("abd"))
    #expect(Secret("abc") != Secret("ab"))
    #expect(Secret("") == Secret(bytes: []))
    #expect(Set([Secret("a"), Secret("a"), Secret("b")]).count == 2)
  }

  @Test("A secret that is created from an array of bytes empties that array.")
  func wiping() {
    var source = bytes(Self.word)
    let secret = Secret(wiping: &source)
    #expect(source.isEmpty)
    #expect(secret.revealed() == Self.word)
  }
}
