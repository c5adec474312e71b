import COpenSSL
import Glibc
import Testing
import XMPPTransport

@Suite struct ClientCertificateTests {
  private let server: TestCertificate
  private let client: TestCertificate

  init() throws {
    server = try TestCertificate()
    client = try TestCertificate(commonName: "a client", names: nil)
  }

  private func refusal(chain: String, key: String) throws -> String {
    var configuration = TLSConfiguration(domain: "example.org")
    configuration.clientCertificate = ClientCertificate(chainFile: chain, keyFile: key)
    let error = try #require(throws: TransportError.self) { try TLSContext(configuration) }
    #expect(error.code == .invalidConfiguration)
    return error.message
  }

  @Test(
    "A client certificate is shown to a server that asks for one, and not to others.",
    arguments: [false, true],
    [0x0303, 0x0304] as [Int32])
  func shown(isAsked: Bool, version: Int32) throws {
    try TestCertificate.withFile([client], key: client) { path throws in
      var configuration = TLSConfiguration(
        domain: "example.org", pinnedCertificateSHA256: server.sha256)
      configuration.clientCertificate = ClientCertificate(chainFile: path, keyFile: path)
      let server = try MemoryTLSServer(
        server, versions: version...version, requestsCertificate: isAsked)
      var conversation = try Conversation(configuration, server)
      try conversation.talk()
      #expect(conversation.client.info != nil)
      #expect(server.clientCertificateSHA256 == (isAsked ? client.sha256 : nil))
    }
  }

  @Test("A server that asks for a client certificate may continue without one.")
  func none() throws {
    let asking = try MemoryTLSServer(server, requestsCertificate: true)
    var conversation = try Conversation(
      TLSConfiguration(domain: "example.org", pinnedCertificateSHA256: server.sha256), asking)
    try conversation.talk()
    #expect(conversation.client.info != nil)
    #expect(asking.clientCertificateSHA256 == nil)
  }

  @Test("An error names the client certificate or key file that cannot be read.")
  func unreadable() throws {
    try TestCertificate.withFile([client], key: client) { path throws in
      let missing = "/nonexistent/file.pem"
      #expect(
        try refusal(chain: missing, key: path)
          == "The file \(missing) with the client certificate cannot be read: No such file or directory.")
      #expect(
        try refusal(chain: path, key: missing)
          == "The file \(missing) with the key of the client certificate cannot be read: No such file or directory."
      )
      #expect(try refusal(chain: "/tmp", key: path).hasSuffix("cannot be read: not a regular file."))
      #expect(try refusal(chain: path, key: "/dev/zero").hasSuffix("cannot be read: not a regular file."))
    }
  }

  @Test("An error names the file that contains no certificate or no key.")
  func missing() throws {
    try TestCertificate.withFile([client]) { chain throws in
      try TestCertificate.withFile([], key: client) { key throws in
        #expect(try refusal(chain: key, key: key) == "The file \(key) contains no certificate in PEM form.")
        #expect(
          try refusal(chain: chain, key: chain) == "The file \(chain) contains no private key in PEM form.")
      }
    }
  }

  @Test(
    "A key that does not belong to the client certificate is refused, whatever its type.",
    arguments: [NID_X9_62_id_ecPublicKey, NID_ED25519])
  func mismatch(keyType: Int32) throws {
    let hash = keyType == NID_ED25519 ? nil : EVP_sha256()
    let other = try TestCertificate(hash: hash, keyType: keyType)
    try TestCertificate.withFile([client]) { chain throws in
      try TestCertificate.withFile([], key: other) { key throws in
        #expect(
          try refusal(chain: chain, key: key)
            == "The key in \(key) does not belong to the client certificate in \(chain).")
      }
    }
  }

  @Test("An encrypted key is refused, and nobody is asked for its password.")
  func encrypted() throws {
    try TestCertificate.withFile([client], key: client, password: "secret") { path throws in
      #expect(
        try refusal(chain: path, key: path) == "The key of the client certificate in \(path) is encrypted.")
    }
  }

  @Test("A key file that other users can read is refused.", arguments: [0o640, 0o604, 0o660] as [mode_t])
  func readable(mode: mode_t) throws {
    try TestCertificate.withFile([client], key: client) { path throws in
      try #require(chmod(path, mode) == 0)
      #expect(
        try refusal(chain: path, key: path)
          == "Others can read the file \(path) with the key of the client certificate: run chmod 600 on it.")
    }
  }
}
