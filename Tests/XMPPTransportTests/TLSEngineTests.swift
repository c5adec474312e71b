import NIOCore
import TestSupport
import Testing
import XMPPTransport

@Suite struct TLSEngineTests {
  private let certificate: TestCertificate

  init() throws { certificate = try TestCertificate() }

  private func converse(
    versions: ClosedRange<Int32> = 0x0301...0x0304, cut: Cut = .whole, domain: String = "example.org",
    minimum: TLSConfiguration.Version = .tls12, alpn: [String] = ["xmpp-client"], choosesALPN: Bool = true
  ) throws -> Conversation {
    try Conversation(
      TLSConfiguration(
        domain: domain, pinnedCertificateSHA256: certificate.sha256, alpn: alpn, minimumVersion: minimum),
      MemoryTLSServer(certificate, versions: versions, choosesALPN: choosesALPN), cut: cut)
  }

  private static let cuts: [Cut] = [.whole, .bytes] + (1...5).map { Cut.random(seed: $0) }

  @Test(
    "Client and server exchange data however the bytes are split.", arguments: cuts,
    [0x0303, 0x0304] as [Int32])
  func exchange(cut: Cut, version: Int32) throws {
    var conversation = try converse(versions: version...version, cut: cut)
    try conversation.talk()
    let info = try #require(conversation.client.info)
    #expect(info.version == (version == 0x0304 ? "TLSv1.3" : "TLSv1.2"))
    #expect(!info.cipher.isEmpty)
    let question = Array("<stream:stream>".utf8)
    try question.withUnsafeBytes { try conversation.client.write($0) }
    let long = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
    try conversation.talk()
    #expect(conversation.server.received == question)
    conversation.server.write(long)
    try conversation.talk()
    #expect(Array(conversation.plaintext.readableBytesView) == long)
    try long.withUnsafeBytes { try conversation.client.write($0) }
    try conversation.talk()
    #expect(conversation.server.received == question + long)
  }

  @Test("The client names the domain in SNI and xmpp-client in ALPN.")
  func offers() throws {
    var conversation = try converse()
    try conversation.talk()
    #expect(conversation.server.serverName == "example.org")
    #expect(conversation.client.info?.alpn == "xmpp-client")
  }

  @Test("A server that ignores ALPN is accepted.")
  func ignoredALPN() throws {
    var conversation = try converse(choosesALPN: false)
    try conversation.talk()
    #expect(conversation.client.info?.alpn == nil)
    #expect(conversation.client.info != nil)
  }

  @Test("The client sends no SNI if the domain is an IP address.")
  func addressHasNoServerName() throws {
    var conversation = try converse(domain: "127.0.0.1", alpn: [])
    try conversation.talk()
    #expect(conversation.client.info != nil)
    #expect(conversation.server.serverName == nil)
  }

  @Test("TLS 1.0 and 1.1 are refused, and TLS 1.2 too if TLS 1.3 is required.")
  func oldVersions() throws {
    for (version, minimum) in [
      (0x0301, TLSConfiguration.Version.tls12), (0x0302, .tls12), (0x0303, .tls13),
    ] {
      var conversation = try converse(versions: Int32(version)...Int32(version), minimum: minimum)
      let error = #expect(throws: TransportError.self) {
        try conversation.talk()
        // The server may have refused without a word.
        guard conversation.client.info == nil else { return }
        throw TransportError(.tlsFailed, "no handshake")
      }
      #expect(error?.code == .tlsFailed)
      #expect(conversation.client.info == nil)
    }
  }

  @Test(
    "An answer that is not TLS is reported as such.",
    arguments: ["<stream:error/></stream:stream>", "HTTP/1.1 400 Bad\r\n\r\n"])
  func plaintextServer(answer: String) throws {
    let engine = try TLSEngine(TLSContext(TLSConfiguration(domain: "example.org")))
    _ = try engine.handshake()
    let error = #expect(throws: TransportError.self) {
      try Array(answer.utf8).withUnsafeBytes { try engine.receive($0) }
      _ = try engine.handshake()
    }
    #expect(error?.code == .tlsFailed)
    #expect(error?.message.contains("does not answer with TLS; its port may be for STARTTLS") == true)
    // What failed stays failed.
    #expect(throws: TransportError.self) { try engine.handshake() }
    #expect(throws: TransportError.self) { try [1].withUnsafeBytes { try engine.receive($0) } }
  }

  @Test("Random bytes instead of the server's answer end in an error or are waited out, but never trap.")
  func noise() throws {
    var generator = SeededGenerator(seed: 7)
    let context = try TLSContext(TLSConfiguration(domain: "example.org"))
    for _ in 0..<500 {
      let engine = try TLSEngine(context)
      _ = try engine.handshake()
      var bytes = (0..<Int.random(in: 1...400, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      if Bool.random(using: &generator) {
        bytes.replaceSubrange(0..<min(3, bytes.count), with: [0x16, 3, 3])
      }
      do {
        try bytes.withUnsafeBytes { try engine.receive($0) }
        #expect(try !engine.handshake())
      } catch { #expect(error is TransportError) }
      #expect(engine.info == nil)
    }
  }

  @Test("A damaged byte in the server's records never leads to wrong plaintext.")
  func damage() throws {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<40 {
      var conversation = try converse()
      try conversation.talk()
      conversation.server.write(Array("<message/>".utf8))
      var record = conversation.server.take()
      let index = Int.random(in: record.indices, using: &generator)
      record[index] ^= UInt8.random(in: 1...255, using: &generator)
      var read = ByteBuffer()
      do {
        try record.withUnsafeBytes { try conversation.client.receive($0) }
        _ = try conversation.client.read(into: &read)
      } catch { #expect((error as? TransportError)?.code == .tlsFailed) }
      #expect(read.readableBytes == 0)
    }
  }

  @Test("Both sides are notified of close_notify, and nothing is written after it.")
  func closing() throws {
    var conversation = try converse()
    try conversation.talk()
    conversation.server.write([1, 2, 3])
    conversation.server.close()
    try conversation.talk()
    #expect(conversation.clientClosed)
    #expect(Array(conversation.plaintext.readableBytesView) == [1, 2, 3])
    #expect(!conversation.server.isClosed)
    conversation.client.close()
    conversation.client.close()
    try conversation.talk()
    #expect(conversation.server.isClosed)
    let error = #expect(throws: TransportError.self) {
      try [1].withUnsafeBytes { try conversation.client.write($0) }
    }
    #expect(error?.code == .tlsClosed)
  }

  @Test("No data is read or written before the handshake is complete.")
  func tooEarly() throws {
    let conversation = try converse()
    var buffer = ByteBuffer()
    #expect(throws: TransportError.self) { try conversation.client.read(into: &buffer) }
    #expect(throws: TransportError.self) { try [1].withUnsafeBytes { try conversation.client.write($0) } }
    conversation.client.close()
    conversation.client.drainCiphertext(into: &buffer)
    #expect(buffer.readableBytes == 0)
  }

  @Test("A server cannot renegotiate a TLS 1.2 session.")
  func renegotiation() throws {
    var conversation = try converse(versions: 0x0303...0x0303)
    try conversation.talk()
    let before = conversation.client.info
    _ = conversation.server.renegotiate()
    // OpenSSL answers with a warning or an alert; there is no second handshake.
    try? conversation.talk()
    #expect(!conversation.server.renegotiate())
    #expect(conversation.client.info == before)
  }
}
