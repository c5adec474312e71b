import Testing

@testable import XMPPSASL

struct SASLMechanismChoiceTests {
  /// One row: what is offered in which stream, and what comes of it.
  struct Row: Sendable, CustomTestStringConvertible {
    var offered: [SASLMechanismName]
    var encrypted = true
    var policy = SASLPolicy()
    var chosen: SASLMechanismName?
    var refused: SASLError.Code?

    var testDescription: String {
      "\(offered.map(\.description)) \(encrypted ? "TLS" : "no TLS") \(policy.pinned?.description ?? "")"
    }
  }

  private static let unknown = SASLMechanismName("SCRAM-SHA3-512")

  private static let rows: [Row] = [
    // Strongest first, in whatever order the server lists them.
    Row(offered: [.scramSHA1, .scramSHA256, .scramSHA512], chosen: .scramSHA512),
    Row(offered: [.scramSHA512, .scramSHA256, .scramSHA1], chosen: .scramSHA512),
    Row(offered: [.plain, .scramSHA1, .scramSHA256], chosen: .scramSHA256),
    Row(offered: [.plain, .scramSHA1], chosen: .scramSHA1),
    Row(offered: [.scramSHA256, .scramSHA256, .scramSHA256], chosen: .scramSHA256),
    Row(offered: [.scramSHA256Plus, .scramSHA256, .xOAuth2, .external, .plain], chosen: .scramSHA256),
    Row(offered: [.scramSHA1], encrypted: false, chosen: .scramSHA1),
    // PLAIN.
    Row(offered: [.plain], chosen: .plain),
    Row(offered: [.plain, .xOAuth2], chosen: .plain),
    Row(offered: [.plain], encrypted: false, refused: .plainRefused),
    Row(offered: [.plain, unknown], refused: .plainRefused),
    Row(offered: [.plain, .scramSHA512Plus], refused: .plainRefused),
    Row(offered: [.plain, .scramSHA1], policy: SASLPolicy(allowed: [.plain]), refused: .plainRefused),
    // Nothing in common.
    Row(offered: [], refused: .mechanismUnavailable),
    Row(offered: [.anonymous], refused: .mechanismUnavailable),
    Row(offered: [.anonymous, .plain], chosen: .plain),
    Row(offered: [.anonymous, .plain], encrypted: false, refused: .plainRefused),
    Row(offered: [.external, .oauthBearer, unknown], refused: .mechanismUnavailable),
    Row(offered: [SASLMechanismName("plain"), SASLMechanismName("PLAIN ")], refused: .mechanismUnavailable),
    Row(offered: [.scramSHA1], policy: SASLPolicy(allowed: [.scramSHA256]), refused: .mechanismUnavailable),
    Row(
      offered: [.scramSHA1, .scramSHA256], policy: SASLPolicy(allowed: [.scramSHA1]), chosen: .scramSHA1),
    // What was learned before.
    Row(offered: [.plain], policy: SASLPolicy(pinned: .scramSHA1), refused: .downgrade),
    Row(offered: [.plain], encrypted: false, policy: SASLPolicy(pinned: .scramSHA1), refused: .downgrade),
    Row(offered: [.scramSHA1, .plain], policy: SASLPolicy(pinned: .scramSHA256), refused: .downgrade),
    Row(offered: [.scramSHA256], policy: SASLPolicy(pinned: .scramSHA256), chosen: .scramSHA256),
    Row(offered: [.scramSHA512], policy: SASLPolicy(pinned: .scramSHA256), chosen: .scramSHA512),
    Row(offered: [.scramSHA1], policy: SASLPolicy(pinned: .plain), chosen: .scramSHA1),
    Row(offered: [.anonymous], policy: SASLPolicy(pinned: .scramSHA256), refused: .mechanismUnavailable),
    Row(
      offered: [.scramSHA1, .scramSHA256],
      policy: SASLPolicy(allowed: [.scramSHA1], pinned: .scramSHA256), chosen: .scramSHA1),
  ]

  @Test("The strongest mechanism in common is chosen, or the choice is refused.", arguments: rows)
  func choice(row: Row) throws {
    let credentials = SASLCredentials(authcid: "user", password: Secret("hunter2"))
    do throws(SASLError) {
      let mechanism = try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: row.offered), credentials: credentials,
        context: SASLContext(isEncrypted: row.encrypted), policy: row.policy)
      #expect(mechanism.name == row.chosen)
      expectSilence(of: mechanism, about: "hunter2")
    } catch {
      #expect(error.code == row.refused)
      expectSilence(of: error, about: "hunter2")
    }
  }

  @Test("Without password and keys nothing can be chosen.")
  func noCredentials() {
    expectRefusal(.mechanismUnavailable, SASLCredentials(authcid: "user"), [.scramSHA256, .plain])
  }

  @Test("Stored keys choose the hash that they were made for, and never PLAIN.")
  func storedKeys() throws {
    let keys = try SCRAMKeyRequest(
      hash: .sha256, salt: [1], iterations: 4096, password: Secret("hunter2")
    ).derive()
    let credentials = SASLCredentials(authcid: "user", scramKeys: [keys])
    let mechanism = try SASLMechanismChoice.choose(
      offer: SASLOffer(mechanisms: [.scramSHA512, .scramSHA256, .plain]), credentials: credentials,
      context: SASLContext(isEncrypted: true))
    #expect(mechanism.name == .scramSHA256)
    expectRefusal(.mechanismUnavailable, credentials, [.scramSHA1, .plain])
  }

  @Test(
    "A password that SASLprep forbids is an error, not a reason to send it with PLAIN.",
    arguments: ["", "a\tb", "\u{627}1", "\u{1F511}"])
  func invalidPassword(password: String) {
    expectRefusal(
      .invalidPassword, SASLCredentials(authcid: "user", password: Secret(password)), [.scramSHA1, .plain])
  }

  @Test("A user name that SASLprep forbids is an error.", arguments: ["", "a\u{7}", "\u{AD}"])
  func invalidUserName(name: String) {
    expectRefusal(
      .invalidUserName, SASLCredentials(authcid: name, password: Secret("hunter2")), [.scramSHA1])
  }

  @Test("The text of a refusal is bounded and holds nothing that the server could abuse.")
  func hostileOffer() {
    let names = (0..<10_000).map { SASLMechanismName("\u{1B}[31m\($0)") }
    expectRefusal(.mechanismUnavailable, SASLCredentials(authcid: "user", password: Secret("x")), names) {
      $0.message.utf8.count < 300 && !$0.message.contains("\u{1B}")
    }
  }

  @Test("Every mechanism of the list has a name of its own, the ones without a password first.")
  func list() {
    let names = SASLMechanismChoice.supported
    #expect(Set(names).count == names.count)
    #expect(
      names.filter(\.isSCRAM) == [
        .scramSHA512Plus, .scramSHA256Plus, .scramSHA1Plus, .scramSHA512, .scramSHA256, .scramSHA1,
      ])
    #expect(SASLMechanismChoice.candidates.filter { $0.kind == .password }.last?.name == .plain)
  }

  private func expectRefusal(
    _ code: SASLError.Code, _ credentials: SASLCredentials, _ offered: [SASLMechanismName],
    sourceLocation: SourceLocation = #_sourceLocation, where holds: (SASLError) -> Bool = { _ in true }
  ) {
    #expect(sourceLocation: sourceLocation) {
      _ = try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: offered), credentials: credentials,
        context: SASLContext(isEncrypted: true))
    } throws: { error in
      guard let error = error as? SASLError else { return false }
      expectSilence(of: error, about: "hunter2")
      return error.code == code && holds(error)
    }
  }
}
