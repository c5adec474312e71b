import COpenSSL
import Testing

@testable import XMPPTransport

@Suite struct TLSChannelBindingsTests {
  private let certificate: TestCertificate

  init() throws { certificate = try TestCertificate() }

  private func converse(
    _ server: MemoryTLSServer, resuming session: TLSSession? = nil
  ) throws -> (bindings: TLSChannelBindings, session: TLSSession?) {
    var configuration = TLSConfiguration(
      domain: "example.org", pinnedCertificateSHA256: certificate.sha256)
    configuration.resumesSessions = true
    var conversation = try Conversation(configuration, server, resuming: session)
    try conversation.talk()
    let info = try #require(conversation.client.info)
    #expect(info.isResumed == (session != nil))
    return (info.channelBindings, conversation.session)
  }

  @Test("TLS 1.3 has the exporter value but no Finished message, even in a resumed session.")
  func tls13() throws {
    let server = try MemoryTLSServer(certificate)
    let (bindings, session) = try converse(server)
    #expect(bindings.exporter == server.exporter)
    #expect(bindings.unique == nil)
    let next = try MemoryTLSServer(again: server)
    let (again, _) = try converse(next, resuming: #require(session) as TLSSession)
    #expect(again.exporter == next.exporter)
    #expect(again.exporter != bindings.exporter)
    #expect(again.unique == nil)
    #expect(again.serverEndPoint == certificate.sha256)
  }

  @Test(
    "TLS 1.2 has the exporter value and the first Finished message, which a resumed session gets from the server."
  )
  func tls12() throws {
    let server = try MemoryTLSServer(certificate, versions: 0x0303...0x0303)
    let (bindings, session) = try converse(server)
    #expect(bindings.unique == server.finished.client)
    #expect(bindings.unique?.count == 12)
    #expect(bindings.exporter == server.exporter12)
    let next = try MemoryTLSServer(again: server)
    let (again, _) = try converse(next, resuming: #require(session) as TLSSession)
    #expect(again.unique == next.finished.own)
    #expect(again.exporter == next.exporter12)
    #expect(again.exporter != bindings.exporter)
    #expect(again.serverEndPoint == certificate.sha256)
  }

  @Test("TLS 1.2 without the extended master secret can only be bound to the certificate.")
  func noExtendedMasterSecret() throws {
    let server = try MemoryTLSServer(
      certificate, versions: 0x0303...0x0303, hasExtendedMasterSecret: false)
    let (bindings, session) = try converse(server)
    #expect(bindings.exporter == nil)
    #expect(bindings.unique == nil)
    #expect(bindings.serverEndPoint == certificate.sha256)
    // Nor is such a session resumed (RFC 7627 §5.3).
    #expect(session == nil)
  }

  @Test("The certificate is hashed with the hash of its signature, or with SHA-256 if that is weak.")
  func serverEndPoint() throws {
    let hashes: [(hash: OpaquePointer?, digest: OpaquePointer?)] = [
      (EVP_md5(), EVP_sha256()), (EVP_sha1(), EVP_sha256()), (EVP_sha224(), EVP_sha224()),
      (EVP_sha256(), EVP_sha256()), (EVP_sha384(), EVP_sha384()), (EVP_sha512(), EVP_sha512()),
    ]
    for (hash, digest) in hashes {
      // There is no ECDSA with MD5.
      let certificate = try TestCertificate(hash: hash, keyType: NID_rsaEncryption)
      let expected = TestCertificate.digest(certificate.x509, try #require(digest))
      #expect(TLSChannelBindings.serverEndPoint(certificate.x509) == expected)
    }
  }

  @Test("The hash of an RSA-PSS signature is taken from its parameters.")
  func pss() throws {
    let certificate = try TestCertificate(keyType: NID_rsaEncryption)
    let signing = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(signing) }
    var parameters: OpaquePointer?
    try #require(EVP_DigestSignInit(signing, &parameters, EVP_sha384(), nil, certificate.key) == 1)
    try #require(EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1)
    try #require(X509_sign_ctx(certificate.x509, signing) > 0)
    let expected = TestCertificate.digest(certificate.x509, EVP_sha384())
    #expect(TLSChannelBindings.serverEndPoint(certificate.x509) == expected)
  }

  @Test("A certificate whose signature has no separate hash gives no value (RFC 5929 §4.1).")
  func ed25519() throws {
    let certificate = try TestCertificate(hash: nil, keyType: NID_ED25519)
    #expect(TLSChannelBindings.serverEndPoint(certificate.x509) == nil)
  }
}
