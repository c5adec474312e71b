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

  static let unknown = SASLMechanismName("SCRAM-SHA3-512")

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

  @Test("The choice is the strongest mechanism that both sides support, or it is refused.", arguments: rows)
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

  @Test("No mechanism can be chosen without a password or keys.")
  func noCredentials() {
    expectRefusal(.mechanismUnavailable, SASLCredentials(authcid: "user"), [.scramSHA256, .plain])
  }

  @Test("Stored keys select a SCRAM mechanism with their own hash, and never PLAIN.")
  func storedKeys() throws {
    let keys = try SCRAMKeyRequest(
      hash: .sha256, salt: [1], iterations: 4096, password: Secret("hunter2")
    ).derive()
    let credentials = SASLCredentials(authcid: "user", scramKeys: [keys])
    let mechanism = try SASLMechanismChoice.choose(
      offer: SASLOffer(mechanisms: [.scramSHA512, .scramSHA256, .plain]), credentials: credentials,
      context: SASLContext(isEncrypted: true))
    #expect(mechanism.name == .scramSHA256)
    // With the password it could go on; without anything in common it could not.
    expectRefusal(.keysOutdated, credentials, [.scramSHA1, .plain])
    expectRefusal(.keysOutdated, credentials, [.plain])
    expectRefusal(.mechanismUnavailable, credentials, [.external, Self.unknown])
  }

  @Test(
    "A password that SASLprep forbids is an error, and is not sent by PLAIN instead.",
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

  @Test("The text of a refusal is short and contains nothing that the server could abuse.")
  func hostileOffer() {
    let names = (0..<10_000).map { SASLMechanismName("\u{1B}[31m\($0)") }
    expectRefusal(.mechanismUnavailable, SASLCredentials(authcid: "user", password: Secret("x")), names) {
      $0.message.utf8.count < 300 && !$0.message.contains("\u{1B}")
    }
  }

  @Test("Every supported mechanism has its own name, and PLAIN is the last one for a password.")
  func list() {
    let names = SASLMechanismChoice.supported
    #expect(Set(names).count == names.count)
    #expect(
      names.filter(\.isSCRAM) == [
        .scramSHA512Plus, .scramSHA256Plus, .scramSHA1Plus, .scramSHA512, .scramSHA256, .scramSHA1,
      ])
    #expect(SASLMechanismChoice.candidates.filter { $0.kind == .password }.last?.name == .plain)
  }

  /// Credentials by what they hold, a password apart.
  private static let bearer = with { $0.bearerToken = Secret("hunter2") }
  private static let certificate = with { $0.hasCertificate = true }
  private static let anonymous = with { $0.isAnonymous = true }

  private static func with(_ change: (inout SASLCredentials) -> Void) -> SASLCredentials {
    var credentials = SASLCredentials(authcid: "user")
    change(&credentials)
    return credentials
  }

  private static let all: [SASLMechanismName] = [
    .plain, .scramSHA1, .scramSHA256Plus, .oauthBearer, .xOAuth2, .external, .anonymous, .htSHA256None,
  ]

  @Test(
    "Each kind of credentials uses only its own mechanisms.",
    arguments: [
      (bearer, all, .oauthBearer), (bearer, [.xOAuth2, .plain, .scramSHA1], .xOAuth2),
      (bearer, [.plain, .scramSHA512, .anonymous, .external], nil),
      (certificate, all, .external), (certificate, [.plain, .scramSHA1, .anonymous, .oauthBearer], nil),
      (anonymous, all, .anonymous), (anonymous, [.plain, .scramSHA1, .external, .oauthBearer], nil),
      // What is given besides does not matter.
      (
        with {
          $0.isAnonymous = true
          $0.password = Secret("hunter2")
          $0.hasCertificate = true
        }, all, .anonymous
      ),
      (
        with {
          $0.isAnonymous = true
          $0.bearerToken = Secret("hunter2")
        }, [.oauthBearer, .plain], nil
      ),
      (
        with {
          $0.bearerToken = Secret("hunter2")
          $0.password = Secret("hunter2")
        }, all, .oauthBearer
      ),
      (
        with {
          $0.bearerToken = Secret("hunter2")
          $0.password = Secret("hunter2")
        }, [.plain, .scramSHA1], nil
      ),
      (
        with {
          $0.hasCertificate = true
          $0.password = Secret("hunter2")
        }, all, .scramSHA1
      ),
      (
        with {
          $0.hasCertificate = true
          $0.password = Secret("hunter2")
        }, [.external], nil
      ),
      (
        with {
          $0.hasCertificate = true
          $0.bearerToken = Secret("hunter2")
        }, [.external], nil
      ),
      (with { $0.password = Secret("hunter2") }, [.external, .anonymous, .oauthBearer, .xOAuth2], nil),
    ] as [(SASLCredentials, [SASLMechanismName], SASLMechanismName?)])
  func kinds(credentials: SASLCredentials, offered: [SASLMechanismName], chosen: SASLMechanismName?) throws {
    guard let chosen else {
      return expectRefusal(.mechanismUnavailable, credentials, offered)
    }
    let mechanism = try SASLMechanismChoice.choose(
      offer: SASLOffer(mechanisms: offered), credentials: credentials, context: SASLContext(isEncrypted: true)
    )
    #expect(mechanism.name == chosen)
    expectSilence(of: mechanism, about: "hunter2")
  }

  @Test("A token or a certificate is never used without TLS, but an anonymous login may be.")
  func withoutTLS() throws {
    func choose(_ credentials: SASLCredentials) throws(SASLError) -> SASLMechanismName {
      try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: [.oauthBearer, .xOAuth2, .external, .anonymous]),
        credentials: credentials, context: SASLContext(isEncrypted: false)
      ).name
    }
    #expect { try choose(Self.bearer) } throws: { ($0 as? SASLError)?.code == .plainRefused }
    #expect { try choose(Self.certificate) } throws: { ($0 as? SASLError)?.code == .mechanismUnavailable }
    #expect(try choose(Self.anonymous) == .anonymous)
  }

  @Test(
    "A server that offers less than before is refused with a text that names both mechanisms.",
    arguments: [
      (.scramSHA256Plus, [.scramSHA512, .plain], .scramSHA512), (.scramSHA256, [.plain], .plain),
      (.scramSHA512Plus, [.scramSHA256Plus, .scramSHA512], .scramSHA256Plus),
      (.scramSHA1Plus, [.scramSHA512, .scramSHA256], .scramSHA512), (.scramSHA256, [.scramSHA1], .scramSHA1),
    ] as [(SASLMechanismName, [SASLMechanismName], SASLMechanismName)])
  func downgrade(pinned: SASLMechanismName, offered: [SASLMechanismName], best: SASLMechanismName) {
    expectRefusal(
      .downgrade, SASLCredentials(authcid: "user", password: Secret("hunter2")), offered,
      context: Self.exporter, list: [.tlsExporter], pinned: pinned
    ) {
      $0.message.hasPrefix("downgrade: this server supported \(pinned) before,")
        && $0.message.contains("now offers at most \(best):")
    }
  }

  private static let exporter = SASLContext(isEncrypted: true, channelBindings: [.tlsExporter: [1]])

  @Test("A pin that fails for lack of a channel binding is refused with a text that says what is missing.")
  func missingBinding() {
    let credentials = SASLCredentials(authcid: "user", password: Secret("hunter2"))
    func expect(_ text: String, _ context: SASLContext, _ list: [ChannelBindingType]?) {
      for offered in [[.scramSHA256Plus, .scramSHA256], [.scramSHA256Plus]] as [[SASLMechanismName]] {
        expectRefusal(
          .downgrade, credentials, offered, context: context, list: list, pinned: .scramSHA256Plus
        ) {
          $0.message
            == "downgrade: this server supported SCRAM-SHA-256-PLUS before, but now it cannot be used: \(text)"
        }
      }
    }
    expect("this TLS connection has nothing to bind to", SASLContext(isEncrypted: true), [.tlsExporter])
    expect(
      "the server binds to tls-unique, ?, this TLS connection to tls-exporter", Self.exporter,
      [.tlsUnique, ChannelBindingType(rawValue: "\u{1B}[31m")])
    expect("the server binds to none, this TLS connection to tls-exporter", Self.exporter, [])
    expect(
      "this TLS connection lacks tls-unique, and the server names nothing else to bind to", Self.exporter, nil
    )
  }

  @Test("A pin concerns passwords only, and has no effect on other kinds of credentials.")
  func foreignPins() throws {
    func choose(
      _ credentials: SASLCredentials, _ offered: [SASLMechanismName], pinned: SASLMechanismName
    ) throws -> SASLMechanismName {
      try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: offered), credentials: credentials,
        context: SASLContext(isEncrypted: true), policy: SASLPolicy(pinned: pinned)
      ).name
    }
    #expect(try choose(Self.bearer, [.plain, .oauthBearer], pinned: .scramSHA512Plus) == .oauthBearer)
    #expect(try choose(Self.certificate, [.plain, .external], pinned: .scramSHA512Plus) == .external)
    #expect(try choose(Self.anonymous, [.anonymous], pinned: .scramSHA512Plus) == .anonymous)
    let password = SASLCredentials(authcid: "user", password: Secret("hunter2"))
    for pinned in [.oauthBearer, .xOAuth2, .external, .anonymous, .htSHA256Exporter, Self.unknown]
      as [SASLMechanismName]
    {
      #expect(try choose(password, [.plain], pinned: pinned) == .plain)
    }
  }

  private func expectRefusal(
    _ code: SASLError.Code, _ credentials: SASLCredentials, _ offered: [SASLMechanismName],
    context: SASLContext = SASLContext(isEncrypted: true), list: [ChannelBindingType]? = nil,
    pinned: SASLMechanismName? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, where holds: (SASLError) -> Bool = { _ in true }
  ) {
    #expect(sourceLocation: sourceLocation) {
      _ = try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: offered, channelBindings: list), credentials: credentials,
        context: context, policy: SASLPolicy(pinned: pinned))
    } throws: { error in
      guard let error = error as? SASLError else { return false }
      expectSilence(of: error, about: "hunter2")
      return error.code == code && holds(error)
    }
  }
}
