import Testing
import XMPPSASL

struct PlainMechanismTests {
  private func make(
    _ authcid: String, _ password: String, authzid: String? = nil
  ) throws(SASLError) -> PlainMechanism {
    try PlainMechanism(
      credentials: SASLCredentials(authcid: authcid, authzid: authzid, password: Secret(password)))
  }

  @Test("RFC 4616 §4: the examples.")
  func rfc4616() throws {
    var mechanism = try make("tim", "tanstaaftanstaaf")
    #expect(try mechanism.initialResponse() == bytes("\0tim\0tanstaaftanstaaf"))
    try mechanism.success(nil)

    var proxy = try make("Kurt", "xipj3plmq", authzid: "Ursel")
    #expect(try proxy.initialResponse() == bytes("Ursel\0Kurt\0xipj3plmq"))
  }

  @Test("Text goes out as it was typed: the server prepares it.")
  func unprepared() throws {
    var mechanism = try make("jürgen", "ｐａｓｓ\u{1F511}")
    #expect(try mechanism.initialResponse() == bytes("\0jürgen\0ｐａｓｓ\u{1F511}"))
  }

  @Test(
    "Empty parts and parts with a NUL are refused before anything is sent.",
    arguments: [
      ("user", "", nil, SASLError.Code.invalidPassword), ("user", "a\0b", nil, .invalidPassword),
      ("", "hunter2", nil, .invalidUserName), ("us\0er", "hunter2", nil, .invalidUserName),
      ("user", "hunter2", "a\0b", .invalidUserName),
    ] as [(String, String, String?, SASLError.Code)])
  func invalid(authcid: String, password: String, authzid: String?, code: SASLError.Code) {
    #expect {
      try make(authcid, password, authzid: authzid)
    } throws: { error in
      expectSilence(of: error, about: "hunter2")
      return (error as? SASLError)?.code == code
    }
  }

  @Test("Additional data with the success is ignored.", arguments: [nil, [], [1, 2, 3]] as [[UInt8]?])
  func additionalData(data: [UInt8]?) throws {
    var mechanism = try make("user", "hunter2")
    _ = try mechanism.initialResponse()
    try mechanism.success(data)
  }

  @Test("A challenge is refused, and so is all that follows it.")
  func challenge() throws {
    var mechanism = try make("user", "hunter2")
    _ = try mechanism.initialResponse()
    #expect(throws: SASLError.self) { try mechanism.challenge(bytes("again?")) }
    #expect { try mechanism.success(nil) } throws: { ($0 as? SASLError)?.code == .unexpectedSuccess }
  }

  @Test("Success before the message, and a second success, are refused.")
  func order() throws {
    var early = try make("user", "hunter2")
    #expect { try early.success(nil) } throws: { ($0 as? SASLError)?.code == .unexpectedSuccess }

    var twice = try make("user", "hunter2")
    _ = try twice.initialResponse()
    try twice.success(nil)
    #expect(throws: SASLError.self) { try twice.success(nil) }
    #expect(throws: SASLError.self) { try twice.initialResponse() }
  }

  @Test("Neither the mechanism nor what it sends shows the password when printed.")
  func silence() throws {
    let mechanism = try make("user", "hunter2")
    expectSilence(of: mechanism, about: "hunter2")
  }
}
