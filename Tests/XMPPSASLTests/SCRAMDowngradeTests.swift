import Testing

@testable import XMPPSASL

/// What the server says about its own offer (XEP-0474) against what has arrived.
struct SCRAMDowngradeTests {
  /// The offer of XEP-0474 §5.3.
  private static let offer = SASLOffer(
    mechanisms: [.scramSHA1, .scramSHA1Plus], channelBindings: [.tlsServerEndPoint, .tlsExporter])
  private static let nonce = "12C4CD5C-E38E-4A98-8F6D-15C38F51CCC6"

  private func mechanism(_ offer: SASLOffer?) throws -> SCRAMMechanism {
    var mechanism = try SCRAMMechanism(
      hash: .sha1, credentials: SASLCredentials(authcid: "user", password: Secret("pencil")),
      binding: .required(.tlsExporter, data: bytes("THIS IS FAKE CB DATA")), offer: offer, nonce: Self.nonce)
    #expect(try mechanism.initialResponse() == bytes("p=tls-exporter,,n=user,r=\(Self.nonce)"))
    return mechanism
  }

  private func serverFirst(_ extensions: String) -> [UInt8] {
    bytes("r=\(Self.nonce)a09117a6-ac50-4f2f-93f1-93799c2bddf6,s=QSXCR+Q6sek8bf92,i=4096\(extensions)")
  }

  private static let right = ",h=G6k/rBLDqgOhRRaCuuatSDFkJ08="

  private func expectDowngrade(
    _ mechanism: SCRAMMechanism, _ message: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var mechanism = mechanism
    #expect(sourceLocation: sourceLocation) {
      try mechanism.challenge(message)
    } throws: { error in
      guard let error = error as? SASLError else { return false }
      return error.code == .downgrade && error.message.hasPrefix("downgrade:")
    }
    #expect(throws: SASLError.self, sourceLocation: sourceLocation) { try mechanism.success(nil) }
  }

  @Test("The unchanged offer of the example in XEP-0474 §5.3 is accepted.")
  func published() throws {
    var mechanism = try mechanism(Self.offer)
    guard case .derive = try mechanism.challenge(serverFirst(Self.right)) else {
      Issue.record("no derivation")
      return
    }
  }

  @Test(
    "The hash covers the sorted mechanism names, and the channel binding types if the server lists them.",
    arguments: [
      (.sha1, [.tlsExporter, .tlsServerEndPoint], "G6k/rBLDqgOhRRaCuuatSDFkJ08="),
      (.sha256, [.tlsServerEndPoint, .tlsExporter], "H6VEQ+6wl/eYKuTjJn4D9/e9GTn1AcYGw/oiSJ3Yhy0="),
      (
        .sha512, [.tlsServerEndPoint, .tlsExporter],
        "Q1q0WwH927l2RRoYIMiDY0g7R21hTZK+bfBgkhqek9JSTfIzUlnUZQRB2A6lZL3ER7ZMWRRdQzEJKVH671Bh0g=="
      ),
      (.sha256, nil, "Uuua9QJnTss43LMyJpE0esh43d9r8DB6N89DXs91aFo="),
      (.sha256, [], "o5Qry3CjepRsiBUsIpJfWV30A5KJFy5qiRyBdVEbOhw="),
    ] as [(Digest, [ChannelBindingType]?, String)])
  func hashes(hash: Digest, list: [ChannelBindingType]?, expected: String) throws {
    for mechanisms in [[.scramSHA1, .scramSHA1Plus], [.scramSHA1Plus, .scramSHA1]] as [[SASLMechanismName]] {
      #expect(try SASLOffer(mechanisms: mechanisms, channelBindings: list).hash(hash) == expected)
    }
  }

  @Test(
    "An offer that was changed in transit counts as a downgrade.",
    arguments: [
      SASLOffer(mechanisms: [.scramSHA1], channelBindings: [.tlsServerEndPoint, .tlsExporter]),
      SASLOffer(mechanisms: [.scramSHA1, .scramSHA1Plus], channelBindings: [.tlsServerEndPoint]),
      SASLOffer(mechanisms: [.scramSHA1, .scramSHA1Plus], channelBindings: []),
      SASLOffer(mechanisms: [.scramSHA1, .scramSHA1Plus]),
      SASLOffer(
        mechanisms: [.scramSHA1, .scramSHA1Plus, .plain], channelBindings: [.tlsServerEndPoint, .tlsExporter]),
      SASLOffer(
        mechanisms: [.scramSHA1, .scramSHA1, .scramSHA1Plus],
        channelBindings: [.tlsServerEndPoint, .tlsExporter]),
      SASLOffer(mechanisms: []),
    ])
  func changedOffer(offer: SASLOffer) throws {
    expectDowngrade(try mechanism(offer), serverFirst(Self.right))
  }

  @Test(
    "A malformed hash counts as a downgrade.",
    arguments: [",h=*", ",h=AAAA", ",h=G6k/rBLDqgOhRRaCuuatSDFkJ08", ",x=1,h=g6k/rBLDqgOhRRaCuuatSDFkJ08="])
  func wrongHash(text: String) throws {
    expectDowngrade(try mechanism(Self.offer), serverFirst(text))
  }

  @Test("The hash is compared with the server's actual offer if the mechanism was chosen by an older one.")
  func rememberedOffer() throws {
    let older = SASLOffer(mechanisms: [.scramSHA1Plus, .plain], channelBindings: [.tlsExporter])
    var told = try mechanism(older)
    told.offered(Self.offer)
    guard case .derive = try told.challenge(serverFirst(Self.right)) else {
      Issue.record("no derivation")
      return
    }
    expectDowngrade(try mechanism(older), serverFirst(Self.right))

    var misled = try mechanism(Self.offer)
    misled.offered(older)
    expectDowngrade(misled, serverFirst(Self.right))
  }

  @Test(
    "A server whose first message has no hash of its offer is accepted, whatever other extensions it has."
  )
  func silentServer() throws {
    for text in ["", ",d=AAAA", ",H=AAAA", ",x=1"] {
      var mechanism = try mechanism(Self.offer)
      guard case .derive = try mechanism.challenge(serverFirst(text)) else {
        Issue.record("no derivation")
        continue
      }
    }
  }

  @Test("A repeated hash, a hash in the wrong place and a mandatory extension beside it are refused.")
  func grammar() throws {
    func code(_ message: [UInt8]) throws -> SASLError.Code? {
      var mechanism = try mechanism(Self.offer)
      do throws(SASLError) {
        _ = try mechanism.challenge(message)
        return nil
      } catch { return error.code }
    }
    #expect(try code(serverFirst(Self.right + Self.right)) == .malformed)
    #expect(try code(serverFirst(Self.right + ",h=AAAA")) == .malformed)
    #expect(try code(serverFirst(Self.right + ",m=ext")) == .unsupportedExtension)
    #expect(try code(bytes(Self.right.dropFirst() + ",") + serverFirst("")) == .malformed)
  }

  @Test("The chosen mechanism compares the hash with the offer by which it was chosen.")
  func choice() throws {
    var mechanism = try SASLMechanismChoice.choose(
      offer: Self.offer, credentials: SASLCredentials(authcid: "user", password: Secret("pencil")),
      context: SASLContext(isEncrypted: true, channelBindings: [.tlsExporter: [1]]))
    let first = String(decoding: try #require(try mechanism.initialResponse()), as: UTF8.self)
    let nonce = try #require(first.split(separator: "r=").last)
    #expect {
      try mechanism.challenge(bytes("r=\(nonce)x,s=QSXCR+Q6sek8bf92,i=4096,h=AAAA"))
    } throws: {
      ($0 as? SASLError)?.code == .downgrade
    }
  }

  @Test("A login with a hash of the offer succeeds, and the signature covers the hash.")
  func wholeExchange() throws {
    var server = try SCRAMServer(
      hash: .sha256, iterations: 4096, salt: [1, 2], userName: "user", authzid: nil, password: "pencil",
      nonce: "server", extensions: ",h=" + Self.offer.hash(.sha256))
    var client = try SCRAMMechanism(
      hash: .sha256, credentials: SASLCredentials(authcid: "user", password: Secret("pencil")),
      offer: Self.offer)
    let first = try #require(try client.initialResponse())
    guard case .derive(let request) = try client.challenge(server.begin(first)),
      case .respond(let final) = try client.derived(request.derive())
    else {
      Issue.record("the client does not go on")
      return
    }
    #expect(try server.finish(final))
    try client.success(bytes(server.signature))
  }
}
