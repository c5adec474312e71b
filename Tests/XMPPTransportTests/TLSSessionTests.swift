import COpenSSL
import Glibc
import TestSupport
import Testing

@testable import XMPPTransport

@Suite struct TLSSessionTests {
  private let certificate: TestCertificate
  private static let versions: [Int32] = [0x0303, 0x0304]

  init() throws { certificate = try TestCertificate() }

  private func pinned(_ change: (inout TLSConfiguration) -> Void = { _ in }) -> TLSConfiguration {
    var configuration = TLSConfiguration(
      domain: "example.org", pinnedCertificateSHA256: certificate.sha256)
    configuration.resumesSessions = true
    change(&configuration)
    return configuration
  }

  /// Has a handshake, which must succeed.
  @discardableResult private func connect(
    _ configuration: TLSConfiguration, _ server: MemoryTLSServer, resuming session: TLSSession? = nil
  ) throws -> (isResumed: Bool, session: TLSSession?) {
    var conversation = try Conversation(configuration, server, resuming: session)
    try conversation.talk()
    let info = try #require(conversation.client.info)
    #expect(info.isResumed == server.isResumed)
    #expect(info.peerCertificateSHA256 == certificate.sha256)
    // What is said on it arrives.
    try Array("<a/>".utf8).withUnsafeBytes { try conversation.client.write($0) }
    try conversation.talk()
    #expect(server.received == Array("<a/>".utf8))
    return (info.isResumed, conversation.session)
  }

  /// Whether a session made under one configuration is resumed under another.
  private func isResumed(from first: TLSConfiguration, to second: TLSConfiguration) throws -> Bool {
    let server = try MemoryTLSServer(certificate)
    let session = try #require(try connect(first, server).session)
    return try connect(second, MemoryTLSServer(again: server), resuming: session).isResumed
  }

  @Test(
    "A session is resumed several times in a row and knows the server's certificate.", arguments: versions,
    [false, true])
  func resumption(version: Int32, remembersSessions: Bool) throws {
    let server = try MemoryTLSServer(
      certificate, versions: version...version, remembersSessions: remembersSessions)
    var (isResumed, session) = try connect(pinned(), server)
    #expect(!isResumed)
    // A server forgets the sessions of connections that were cut.
    var open = [server]
    for _ in 1...3 {
      open.append(try MemoryTLSServer(again: server))
      let serialized = try #require(session).serialized
      let stored = try #require(TLSSession(serialized: serialized))
      #expect(stored == session)
      (isResumed, session) = try connect(pinned(), open[open.count - 1], resuming: stored)
      #expect(isResumed)
    }
  }

  @Test("A server that does not know the session makes a full handshake.", arguments: versions)
  func forgotten(version: Int32) throws {
    let server = try MemoryTLSServer(certificate, versions: version...version)
    let session = try connect(pinned(), server).session
    let other = try MemoryTLSServer(certificate, versions: version...version)
    #expect(session != nil)
    #expect(try !connect(pinned(), other, resuming: session).isResumed)
  }

  @Test(
    "A server that rejects a session with an alert accepts a handshake without the session.",
    arguments: versions
  )
  func alert(version: Int32) throws {
    let server = try MemoryTLSServer(
      certificate, versions: version...version, requestsCertificate: true, hasSessionContext: false)
    let session = try #require(try connect(pinned(), server).session)
    let error = try #require(throws: TransportError.self) {
      try connect(pinned(), MemoryTLSServer(again: server), resuming: session)
    }
    #expect(error.code == .tlsFailed)
    #expect(try !connect(pinned(), MemoryTLSServer(again: server)).isResumed)
  }

  @Test(
    "A session of one TLS version is not resumed by a server with the other version.", arguments: versions)
  func otherVersion(version: Int32) throws {
    let server = try MemoryTLSServer(certificate, versions: version...version)
    let session = try connect(pinned(), server).session
    let version = 0x0303 + 0x0304 - version
    let other = try MemoryTLSServer(certificate, versions: version...version)
    #expect(session != nil)
    #expect(try !connect(pinned(), other, resuming: session).isResumed)
  }

  @Test("A damaged session leads to a full handshake, or to the session that it was.", arguments: versions)
  func damaged(version: Int32) throws {
    var generator = SeededGenerator(seed: 5)
    let server = try MemoryTLSServer(certificate, versions: version...version)
    let bytes = try #require(try connect(pinned(), server).session).serialized
    for length in [41, 42, 43, 100, bytes.count - 1] {
      guard let session = TLSSession(serialized: Array(bytes.prefix(length))) else { continue }
      #expect(try !connect(pinned(), MemoryTLSServer(again: server), resuming: session).isResumed)
    }
    for _ in 0..<200 {
      var damaged = bytes
      damaged[Int.random(in: 41..<bytes.count, using: &generator)] ^= .random(in: 1...255, using: &generator)
      let session = try #require(TLSSession(serialized: damaged))
      var conversation = try Conversation(
        TLSContext(pinned()), MemoryTLSServer(again: server), resuming: session)
      // A wrong key ends in an alert; nothing is read by it.
      do { try conversation.talk() } catch { #expect((error as? TransportError)?.code == .tlsFailed) }
      #expect([certificate.sha256, nil].contains(conversation.client.info?.peerCertificateSHA256))
    }
  }

  @Test("Data that is not a stored session is refused.")
  func storedForm() {
    let bytes = [1] + [UInt8](repeating: 7, count: TLSSession.maximumSize)
    #expect(TLSSession(serialized: []) == nil)
    #expect(TLSSession(serialized: Array(bytes.prefix(41))) == nil)
    #expect(TLSSession(serialized: Array(bytes.prefix(42)))?.serialized == Array(bytes.prefix(42)))
    #expect(TLSSession(serialized: Array(bytes.prefix(TLSSession.maximumSize))) != nil)
    #expect(TLSSession(serialized: bytes) == nil)
    #expect(TLSSession(serialized: [2] + bytes.prefix(50)) == nil)
  }

  @Test("A printed session shows none of its secrets.")
  func secrecy() throws {
    let session = try #require(TLSSession(serialized: [1] + [UInt8](repeating: 77, count: 100)))
    var text = "\(session) \(String(reflecting: session)) \(TLSSessionReceived(session: session))"
    dump(session, to: &text)
    #expect(!text.contains("77"))
  }

  @Test("Sessions are kept only if the configuration asks for it.")
  func unasked() throws {
    let unasking = pinned { $0.resumesSessions = false }
    let server = try MemoryTLSServer(certificate)
    #expect(try connect(unasking, server).session == nil)
    let session = try connect(pinned(), MemoryTLSServer(again: server)).session
    let again = try MemoryTLSServer(again: server)
    #expect(session != nil)
    #expect(try !connect(unasking, again, resuming: session).isResumed)
  }

  @Test("A session is resumed only with the same domain, client certificate and kind of trust.")
  func origin() throws {
    #expect(try isResumed(from: pinned(), to: pinned { $0.alpn = [] }))
    #expect(try !isResumed(from: pinned(), to: pinned { $0.domain = "example.net" }))
    #expect(try !isResumed(from: pinned(), to: pinned { $0.unicodeDomain = "bücher.example" }))
    try TestCertificate.withFile([certificate], key: certificate) { path throws in
      let shown = ClientCertificate(chainFile: path, keyFile: path)
      #expect(try !isResumed(from: pinned(), to: pinned { $0.clientCertificate = shown }))
      #expect(try !isResumed(from: pinned { $0.clientCertificate = shown }, to: pinned()))
      let trusting = pinned {
        $0.pinnedCertificateSHA256 = nil
        $0.caFile = path
      }
      #expect(try !isResumed(from: pinned(), to: trusting))
      #expect(try !isResumed(from: trusting, to: pinned()))
    }
  }

  @Test("A session is resumed only with the same trust anchors, whatever the name of their file is.")
  func anchors() throws {
    func trusting(_ path: String) -> TLSConfiguration {
      pinned {
        $0.pinnedCertificateSHA256 = nil
        $0.caFile = path
      }
    }
    let other = try TestCertificate()
    try TestCertificate.withFile([certificate]) { path throws in
      try TestCertificate.withFile([certificate]) { copy throws in
        #expect(try isResumed(from: trusting(path), to: trusting(copy)))
      }
      try TestCertificate.withFile([certificate, other]) { more throws in
        #expect(try !isResumed(from: trusting(path), to: trusting(more)))
      }
      let server = try MemoryTLSServer(certificate)
      let session = try #require(try connect(trusting(path), server).session)
      try TestCertificate.withFile([other]) { wrong throws in
        let error = try #require(throws: TransportError.self) {
          try connect(trusting(wrong), MemoryTLSServer(again: server), resuming: session)
        }
        #expect(error.code == .certificateRejected)
      }
      // The system's anchors.
      let error = try #require(throws: TransportError.self) {
        try connect(
          pinned { $0.pinnedCertificateSHA256 = nil }, MemoryTLSServer(again: server), resuming: session)
      }
      #expect(error.code == .certificateRejected)
    }
  }

  @Test("The minimum TLS version also applies to resumed sessions.")
  func minimumVersion() throws {
    let server = try MemoryTLSServer(certificate, versions: 0x0303...0x0304)
    let old = try MemoryTLSServer(certificate, versions: 0x0303...0x0303)
    let session = try #require(try connect(pinned(), old).session)
    #expect(
      try !connect(pinned { $0.minimumVersion = .tls13 }, server, resuming: session).isResumed)
    #expect(throws: TransportError.self) {
      try connect(
        pinned { $0.minimumVersion = .tls13 }, MemoryTLSServer(again: old), resuming: session)
    }
  }

  /// A session of `server`, as if it had been verified for `configuration` at `time`.
  private func session(
    of server: MemoryTLSServer, showing certificate: TestCertificate, as configuration: TLSConfiguration,
    verified time: Int
  ) throws -> TLSSession {
    let pinned = pinned { $0.pinnedCertificateSHA256 = certificate.sha256 }
    var conversation = try Conversation(pinned, server)
    try conversation.talk()
    let bytes = try #require(conversation.session).serialized
    let origin = try #require(try TLSContext(configuration).origin)
    let octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: time >> ($0 * 8)) }
    return try #require(TLSSession(serialized: [1] + origin + octets + bytes[41...]))
  }

  @Test(
    "A session is not resumed while the server's certificate is not valid.",
    arguments: [-2..<30, -3..<(-1), 1..<30])
  func dates(validity: Range<Int>) throws {
    let certificate = try TestCertificate(validity: validity)
    try TestCertificate.withFile([certificate]) { path throws in
      let trusting = pinned {
        $0.pinnedCertificateSHA256 = nil
        $0.caFile = path
      }
      let server = try MemoryTLSServer(certificate)
      let session = try session(of: server, showing: certificate, as: trusting, verified: time(nil))
      var conversation = try Conversation(trusting, MemoryTLSServer(again: server), resuming: session)
      guard validity.contains(0) else {
        let error = try #require(throws: TransportError.self) { try conversation.talk() }
        #expect(error.code == .certificateRejected)
        return
      }
      try conversation.talk()
      #expect(conversation.client.info?.isResumed == true)
    }
  }

  @Test("A session is not resumed if its certificate is not the pinned one.")
  func pin() throws {
    let other = try TestCertificate()
    let server = try MemoryTLSServer(other)
    let session = try session(of: server, showing: other, as: pinned(), verified: time(nil))
    let error = try #require(throws: TransportError.self) {
      try connect(pinned(), MemoryTLSServer(again: server), resuming: session)
    }
    #expect(error.code == .certificateRejected)
  }

  @Test("A session is not resumed more than a week after its certificate was verified.", arguments: versions)
  func lifetime(version: Int32) throws {
    let server = try MemoryTLSServer(certificate, versions: version...version)
    func attempt(_ verified: Int) throws -> (isResumed: Bool, session: TLSSession?) {
      let session = try session(
        of: MemoryTLSServer(again: server), showing: certificate, as: pinned(), verified: verified)
      return try connect(pinned(), MemoryTLSServer(again: server), resuming: session)
    }
    let yesterday = time(nil) - 86_400
    let (isResumed, next) = try attempt(yesterday)
    #expect(isResumed)
    #expect(next?.verified == yesterday)
    for time in [time(nil) - TLSSession.lifetime - 1, time(nil) + 3_600, .min, .max, 0] {
      let (isResumed, next) = try attempt(time)
      #expect(!isResumed)
      #expect(try #require(next).verified > yesterday)
    }
  }
}
