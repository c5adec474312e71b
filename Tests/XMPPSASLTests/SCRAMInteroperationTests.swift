import TestSupport
import Testing
import XMPPSASL

/// The client against a server of other code, with random accounts.
struct SCRAMInteroperationTests {
  /// Pieces of text: as typed, and after SASLprep.
  private static let pieces: [(typed: String, prepared: String)] = [
    ("a", "a"), ("Z", "Z"), ("0", "0"), (" ", " "), (",", ","), ("=", "="), ("=2C", "=2C"), ("\"", "\""),
    ("ß", "ß"), ("π", "π"), ("я", "я"), ("密码", "密码"), ("♦", "♦"), ("e\u{301}", "é"), ("ª", "a"),
    ("ｐ", "p"), ("\u{AD}", ""), ("\u{A0}", " "), ("\u{3000}", " "), ("ﬁ", "fi"), ("Ⅸ", "IX"),
  ]

  private struct Account {
    var typed = ""
    var prepared = ""

    init(using generator: inout SeededGenerator) {
      // The first piece keeps either from being empty.
      for index in 0...Int.random(in: 1...20, using: &generator) {
        let piece = index == 0 ? ("x", "x") : pieces.randomElement(using: &generator) ?? ("x", "x")
        typed += piece.0
        prepared += piece.1
      }
    }
  }

  @Test(
    "Accounts with random names and passwords log in, and never with a wrong password.",
    arguments: 1...12 as ClosedRange<UInt64>)
  func randomAccounts(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let hash = Digest.allCases[Int(seed % 3)]
    let name = Account(using: &generator)
    let password = Account(using: &generator)
    let authzid = seed.isMultiple(of: 4) ? "other,=\(seed)@example.org" : nil
    let salt = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
      UInt8.random(in: .min ... .max, using: &generator)
    }
    let original = try SCRAMServer(
      hash: hash, iterations: Int.random(in: 4096...4200, using: &generator), salt: salt,
      userName: name.prepared, authzid: authzid, password: password.prepared, nonce: "%server=\(seed)")

    func logIn(_ typed: String) throws -> (server: SCRAMServer, client: any SASLMechanism, accepted: Bool) {
      var server = original
      var client = try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: [SASLMechanismName("SCRAM-\(hash.rawValue)"), .plain]),
        credentials: SASLCredentials(authcid: name.typed, authzid: authzid, password: Secret(typed)),
        context: SASLContext(isEncrypted: true))
      let first = try #require(try client.initialResponse())
      guard case .derive(let request) = try client.challenge(server.begin(first)),
        case .respond(let final) = try client.derived(request.derive())
      else {
        Issue.record("the client does not go on")
        return (server, client, false)
      }
      let accepted = try server.finish(final)
      return (server, client, accepted)
    }

    var right = try logIn(password.typed)
    #expect(right.accepted)
    if seed.isMultiple(of: 2) {
      #expect(try right.client.challenge(bytes(right.server.signature)) == .respond([]))
      try right.client.success(nil)
    } else {
      try right.client.success(bytes(right.server.signature))
    }

    var wrong = try logIn(password.typed + "x")
    #expect(!wrong.accepted)
    #expect {
      try wrong.client.success(bytes(wrong.server.signature))
    } throws: {
      ($0 as? SASLError)?.code == .serverSignatureMismatch
    }
  }

  @Test(
    "A login that is bound to a channel succeeds on that channel only.",
    arguments: Digest.allCases)
  func channelBinding(hash: Digest) throws {
    func logIn(seen: [UInt8], has: [UInt8]) throws -> Bool {
      var server = try SCRAMServer(
        hash: hash, iterations: 4096, salt: [7], userName: "user", authzid: nil, password: "pencil",
        nonce: "server", channelBindings: ["tls-exporter": has, "tls-server-end-point": [9]])
      let name = SASLMechanismName("SCRAM-\(hash.rawValue)-PLUS")
      var client = try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: [name, .plain], channelBindings: [.tlsServerEndPoint, .tlsExporter]),
        credentials: SASLCredentials(authcid: "user", password: Secret("pencil")),
        context: SASLContext(
          isEncrypted: true, channelBindings: [.tlsExporter: seen, .tlsServerEndPoint: [9]]))
      #expect(client.name == name)
      let first = try #require(try client.initialResponse())
      guard case .derive(let request) = try client.challenge(server.begin(first)),
        case .respond(let final) = try client.derived(request.derive())
      else {
        Issue.record("the client does not go on")
        return false
      }
      guard try server.finish(final) else { return false }
      try client.success(bytes(server.signature))
      return true
    }
    #expect(try logIn(seen: [1, 2, 3], has: [1, 2, 3]))
    // Somebody in between has one TLS connection to each side.
    #expect(try !logIn(seen: [1, 2, 3], has: [1, 2, 4]))
  }
}
