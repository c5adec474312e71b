import COpenSSL
import NIOCore
import XMPPTransport

/// The server's side of a TLS connection over memory, with OpenSSL and nothing of ours.
final class MemoryTLSServer {
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private(set) var received: [UInt8] = []
  private(set) var isClosed = false

  /// - Parameter choosesALPN: whether it answers ALPN with the client's first protocol, or ignores it.
  init(
    _ certificate: TestCertificate, chain: [TestCertificate] = [],
    versions: ClosedRange<Int32> = 0x0301...0x0304,
    choosesALPN: Bool = true
  ) throws {
    guard let context = SSL_CTX_new(TLS_server_method()),
      let ssl = { () -> OpaquePointer? in
        SSL_CTX_set_security_level(context, 0)
        tls_ctx_set_min_version(context, Int(versions.lowerBound) == 0 ? 0 : versions.lowerBound)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(versions.upperBound), nil)
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
        SSL_CTX_use_certificate(context, certificate.x509)
        SSL_CTX_use_PrivateKey(context, certificate.key)
        for issuer in chain {
          X509_up_ref(issuer.x509)
          SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(issuer.x509))
        }
        if choosesALPN {
          SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, length, offered, _, _ in
              guard let offered else { return SSL_TLSEXT_ERR_NOACK }
              chosen?.pointee = offered + 1
              length?.pointee = offered[0]
              return SSL_TLSEXT_ERR_OK
            }, nil)
        }
        return SSL_new(context)
      }()
    else { throw TestCertificate.Failure() }
    self.context = context
    self.ssl = ssl
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
    SSL_set_accept_state(ssl)
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  var serverName: String? {
    SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  }

  func receive(_ bytes: [UInt8]) {
    ERR_clear_error()
    BIO_write(SSL_get_rbio(ssl), bytes, Int32(bytes.count))
    var buffer = [UInt8](repeating: 0, count: 20_000)
    while true {
      let count = SSL_read(ssl, &buffer, Int32(buffer.count))
      guard count > 0 else {
        if SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN { isClosed = true }
        break
      }
      received += buffer.prefix(Int(count))
    }
    ERR_clear_error()
  }

  func write(_ bytes: [UInt8]) { SSL_write(ssl, bytes, Int32(bytes.count)) }

  func close() { SSL_shutdown(ssl) }

  func renegotiate() -> Bool {
    defer { ERR_clear_error() }
    return SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1
  }

  func take() -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: tls_bio_pending(SSL_get_wbio(ssl)))
    if !buffer.isEmpty { BIO_read(SSL_get_wbio(ssl), &buffer, Int32(buffer.count)) }
    return buffer
  }
}

/// How a flow of bytes is cut into pieces.
enum Cut: Sendable {
  case whole
  case bytes
  case random(seed: UInt64)

  func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var generator = SeededGenerator(seed: 1)
    if case .random(let seed) = self { generator = SeededGenerator(seed: seed) }
    var rest = bytes[...]
    var pieces: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
      let length =
        switch self {
        case .whole: rest.count
        case .bytes: 1
        case .random: Int.random(in: 1...700, using: &generator)
        }
      pieces.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return pieces
  }
}

/// SplitMix64: the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A `TLSEngine` and a server that talk over memory.
struct Conversation {
  let client: TLSEngine
  let server: MemoryTLSServer
  var cut = Cut.whole
  /// What the client read.
  var plaintext = ByteBuffer()
  var clientClosed = false

  init(_ configuration: TLSConfiguration, _ server: MemoryTLSServer, cut: Cut = .whole) throws {
    client = try TLSEngine(TLSContext(configuration))
    self.server = server
    self.cut = cut
  }

  /// Carries bytes both ways until neither has more to say.
  mutating func talk() throws {
    _ = try client.handshake()
    while true {
      send()
      let answer = server.take()
      if answer.isEmpty { return }
      for piece in cut.pieces(answer) {
        do {
          try piece.withUnsafeBytes { try client.receive($0) }
          if try client.handshake(), case .closed = try client.read(into: &plaintext) { clientClosed = true }
        } catch {
          send()
          throw error
        }
      }
    }
  }

  private func send() {
    var buffer = ByteBuffer()
    client.takeCiphertext(into: &buffer)
    for piece in cut.pieces(Array(buffer.readableBytesView)) { server.receive(Array(piece)) }
  }
}
