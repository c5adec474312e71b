import Testing

@testable import XMPPSASL

struct SCRAMMechanismTests {
  /// A whole exchange of user `user` with password `pencil`.
  struct Vector: Sendable, CustomTestStringConvertible {
    let source: String
    let hash: Digest
    var binding = SCRAMChannelBinding.unsupported
    let nonce: String
    let clientFirst: String
    let serverFirst: String
    let clientFinal: String
    let serverFinal: String

    var testDescription: String { source }
  }

  static let vectors: [Vector] = [
    Vector(
      source: "RFC 5802 §5", hash: .sha1, nonce: "fyko+d2lbbFgONRv9qkxdawL",
      clientFirst: "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
      serverFirst: "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
      clientFinal: "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
      serverFinal: "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="),
    Vector(
      source: "RFC 7677 §3", hash: .sha256, nonce: "rOprNGfwEbeRWgbNEkqO",
      clientFirst: "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
      serverFirst: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
      clientFinal: """
        c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
        p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=
        """,
      serverFinal: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
    // No published exchange has SHA-512 or a channel binding: the same one, computed with Python's hashlib
    // and hmac by a script that also gave the two above.
    Vector(
      source: "SHA-512, by Python", hash: .sha512, nonce: "rOprNGfwEbeRWgbNEkqO",
      clientFirst: "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
      serverFirst: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
      clientFinal: """
        c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
        p=gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==
        """,
      serverFinal: """
        v=ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==
        """),
    Vector(
      source: "SHA-256 bound to tls-exporter, by Python", hash: .sha256,
      binding: .required(.tlsExporter, data: Array(0..<32)), nonce: "rOprNGfwEbeRWgbNEkqO",
      clientFirst: "p=tls-exporter,,n=user,r=rOprNGfwEbeRWgbNEkqO",
      serverFirst: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
      clientFinal: """
        c=cD10bHMtZXhwb3J0ZXIsLAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f,\
        r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=QC6CS20quADQRb3mT99YUH+n3VJxUvzuK0K0E1Vrs2M=
        """,
      serverFinal: "v=2GiAgapEppLVlUXbxUDksL3VgYHzuqiK5tR4mhJGgvs="),
    Vector(
      source: "SHA-256, binding not offered, by Python", hash: .sha256, binding: .notOffered,
      nonce: "rOprNGfwEbeRWgbNEkqO",
      clientFirst: "y,,n=user,r=rOprNGfwEbeRWgbNEkqO",
      serverFirst: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
      clientFinal: """
        c=eSws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
        p=FoqiHTtQEDE8lz1CdaEe3tK4mS+iMDTl77SPyDS53DY=
        """,
      serverFinal: "v=dI4KpiQJwBr1+V+K6U1dA6l6I4I9DUNXWND4pcpRU3U="),
  ]

  private func mechanism(_ vector: Vector, credentials: SASLCredentials? = nil) throws -> SCRAMMechanism {
    try SCRAMMechanism(
      hash: vector.hash,
      credentials: credentials ?? SASLCredentials(authcid: "user", password: Secret("pencil")),
      binding: vector.binding, nonce: vector.nonce)
  }

  private func request(_ step: SASLStep) throws -> SCRAMKeyRequest {
    guard case .derive(let request) = step else {
      Issue.record("no derivation but \(step)")
      throw SASLError(.misuse, "no derivation")
    }
    return request
  }

  @Test("A complete exchange succeeds with the server's signature in the success.", arguments: vectors)
  func signatureInSuccess(vector: Vector) throws {
    var mechanism = try mechanism(vector)
    #expect(try mechanism.initialResponse() == bytes(vector.clientFirst))
    let request = try request(mechanism.challenge(bytes(vector.serverFirst)))
    #expect(try mechanism.derived(request.derive()) == .respond(bytes(vector.clientFinal)))
    try mechanism.success(bytes(vector.serverFinal))
  }

  @Test("A complete exchange succeeds with the server's signature in a last challenge.", arguments: vectors)
  func signatureInChallenge(vector: Vector) throws {
    var mechanism = try mechanism(vector)
    _ = try mechanism.initialResponse()
    let request = try request(mechanism.challenge(bytes(vector.serverFirst)))
    _ = try mechanism.derived(request.derive())
    #expect(try mechanism.challenge(bytes(vector.serverFinal)) == .respond([]))
    try mechanism.success(nil)
  }

  @Test("The name of the mechanism states its hash and whether it binds the channel.")
  func names() throws {
    #expect(
      try Self.vectors.map { try mechanism($0).name } == [
        .scramSHA1, .scramSHA256, .scramSHA512, .scramSHA256Plus, .scramSHA256,
      ])
  }

  @Test("Stored keys answer the challenge at once without a password.", arguments: vectors)
  func storedKeys(vector: Vector) throws {
    var first = try mechanism(vector)
    _ = try first.initialResponse()
    let keys = try request(first.challenge(bytes(vector.serverFirst))).derive()

    var second = try mechanism(vector, credentials: SASLCredentials(authcid: "user", scramKeys: [keys]))
    _ = try second.initialResponse()
    #expect(try second.challenge(bytes(vector.serverFirst)) == .respond(bytes(vector.clientFinal)))
    try second.success(bytes(vector.serverFinal))
  }

  @Test("Stored keys for another salt are replaced through the password, and without one the login ends.")
  func outdatedKeys() throws {
    let vector = Self.vectors[1]
    let keys = try SCRAMKeyRequest(
      hash: .sha256, salt: [9], iterations: 4096, password: Secret("pencil")
    ).derive()

    var withPassword = try mechanism(
      vector,
      credentials: SASLCredentials(authcid: "user", password: Secret("pencil"), scramKeys: [keys]))
    _ = try withPassword.initialResponse()
    _ = try request(withPassword.challenge(bytes(vector.serverFirst)))

    var without = try mechanism(vector, credentials: SASLCredentials(authcid: "user", scramKeys: [keys]))
    _ = try without.initialResponse()
    #expect {
      try without.challenge(bytes(vector.serverFirst))
    } throws: {
      ($0 as? SASLError)?.code == .keysOutdated
    }
  }

  @Test("The keys of a login are available once the server has proved itself.", arguments: vectors)
  func keysOfSuccess(vector: Vector) throws {
    for endsInChallenge in [false, true] {
      var mechanism = try mechanism(vector)
      _ = try mechanism.initialResponse()
      let keys = try request(mechanism.challenge(bytes(vector.serverFirst))).derive()
      _ = try mechanism.derived(keys)
      #expect(mechanism.scramKeys == nil)
      if endsInChallenge {
        _ = try mechanism.challenge(bytes(vector.serverFinal))
        #expect(mechanism.scramKeys == nil)
      }
      try mechanism.success(endsInChallenge ? nil : bytes(vector.serverFinal))
      #expect(mechanism.scramKeys == keys)

      // Those that were stored are no other.
      var again = try self.mechanism(
        vector, credentials: SASLCredentials(authcid: "user", scramKeys: [keys]))
      _ = try again.initialResponse()
      _ = try again.challenge(bytes(vector.serverFirst))
      try again.success(bytes(vector.serverFinal))
      #expect(again.scramKeys == keys)
    }
  }

  @Test("The keys of a login are not available if the server has not proved itself.")
  func keysOfFailure() throws {
    let vector = Self.vectors[0]
    var mechanism = try mechanism(vector)
    _ = try mechanism.initialResponse()
    _ = try mechanism.derived(try request(mechanism.challenge(bytes(vector.serverFirst))).derive())
    #expect(throws: SASLError.self) { try mechanism.success(bytes("v=AAAA")) }
    #expect(mechanism.scramKeys == nil)
  }

  @Test(
    "A challenge is answered with the right one of several stored keys, with and without channel binding."
  )
  func manyKeys() throws {
    func keys(_ hash: Digest, _ salt: String) throws -> SCRAMKeys {
      try SCRAMKeyRequest(
        hash: hash, salt: try #require(Base64.decode(salt)), iterations: 4096, password: Secret("pencil")
      ).derive()
    }
    let stored = try [
      keys(.sha1, "W22ZaJ0SNY7soEsUEjb6gQ=="), keys(.sha256, "QSXCR+Q6sek8bf92"),
      keys(.sha256, "W22ZaJ0SNY7soEsUEjb6gQ=="), keys(.sha512, "W22ZaJ0SNY7soEsUEjb6gQ=="),
      keys(.sha1, "QSXCR+Q6sek8bf92"),
    ]
    for vector in Self.vectors {
      var mechanism = try mechanism(vector, credentials: SASLCredentials(authcid: "user", scramKeys: stored))
      _ = try mechanism.initialResponse()
      #expect(try mechanism.challenge(bytes(vector.serverFirst)) == .respond(bytes(vector.clientFinal)))
    }
  }

  @Test("Derived keys that belong to another request are refused.")
  func foreignKeys() throws {
    var mechanism = try mechanism(Self.vectors[1])
    _ = try mechanism.initialResponse()
    _ = try mechanism.challenge(bytes(Self.vectors[1].serverFirst))
    let keys = try SCRAMKeyRequest(
      hash: .sha512, salt: [9], iterations: 4096, password: Secret("pencil")
    ).derive()
    #expect { try mechanism.derived(keys) } throws: { ($0 as? SASLError)?.code == .misuse }
    #expect(throws: SASLError.self) { try mechanism.success(bytes(Self.vectors[1].serverFinal)) }
  }

  @Test(
    "User names are prepared, and their commas and equals signs are escaped.",
    arguments: [
      ("a,b=c", nil, "n,,n=a=2Cb=3Dc,r=x"), ("=2C", nil, "n,,n==3D2C,r=x"), ("I\u{AD}X", nil, "n,,n=IX,r=x"),
      ("jürgen", nil, "n,,n=jürgen,r=x"), ("\u{1F511}", nil, "n,,n=\u{1F511},r=x"),
      (",\u{301}", nil, "n,,n==2C\u{301},r=x"),
      ("user", "", "n,,n=user,r=x"), ("user", "boss,=@example.org", "n,a=boss=2C=3D@example.org,n=user,r=x"),
    ] as [(String, String?, String)])
  func names(authcid: String, authzid: String?, message: String) throws {
    var mechanism = try SCRAMMechanism(
      hash: .sha1,
      credentials: SASLCredentials(authcid: authcid, authzid: authzid, password: Secret("pencil")),
      nonce: "x")
    #expect(try mechanism.initialResponse() == bytes(message))
  }

  @Test("An authorization identity that contains a NUL is refused.")
  func invalidAuthzid() {
    #expect {
      try SCRAMMechanism(
        hash: .sha1,
        credentials: SASLCredentials(authcid: "user", authzid: "a\0b", password: Secret("pencil")))
    } throws: {
      ($0 as? SASLError)?.code == .invalidUserName
    }
  }

  @Test("A nonce is long, printable, without a comma and never repeated.")
  func nonces() throws {
    let messages = try (0..<50).map { _ in
      var mechanism = try SCRAMMechanism(
        hash: .sha1, credentials: SASLCredentials(authcid: "user", password: Secret("pencil")))
      return try #require(try mechanism.initialResponse())
    }
    #expect(Set(messages).count == 50)
    for message in messages {
      let nonce = message.dropFirst("n,,n=user,r=".utf8.count)
      #expect(nonce.count >= 24)
      #expect(nonce.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") })
    }
  }

  @Test("The first message is sent only once.")
  func onlyOnce() throws {
    var mechanism = try mechanism(Self.vectors[0])
    _ = try mechanism.initialResponse()
    #expect { try mechanism.initialResponse() } throws: { ($0 as? SASLError)?.code == .misuse }
  }

  @Test("A printed mechanism does not show the password in any of its states.")
  func silence() throws {
    let vector = Self.vectors[0]
    var mechanism = try mechanism(vector)
    expectSilence(of: mechanism, about: "pencil")
    _ = try mechanism.initialResponse()
    let step = try mechanism.challenge(bytes(vector.serverFirst))
    expectSilence(of: step, about: "pencil")
    expectSilence(of: mechanism, about: "pencil")
    let keys = try request(step).derive()
    expectSilence(of: keys, about: "pencil")
    _ = try mechanism.derived(keys)
    expectSilence(of: mechanism, about: "pencil")
  }
}
