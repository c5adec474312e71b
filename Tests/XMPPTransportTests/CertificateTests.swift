import COpenSSL
import Testing

@testable import XMPPTransport

/// Which certificates are taken for `example.org`.
@Suite struct CertificateTests {
  /// Handshakes with a server; the CA file holds `trusted`.
  private func connect(
    to domain: String = "example.org", showing certificate: TestCertificate, chain: [TestCertificate] = [],
    trusting trusted: [TestCertificate], unicodeDomain: String? = nil
  ) throws -> TLSInfo? {
    try TestCertificate.withFile(trusted) { path in
      var conversation = try Conversation(
        TLSConfiguration(domain: domain, unicodeDomain: unicodeDomain, caFile: path),
        MemoryTLSServer(certificate, chain: chain))
      try conversation.talk()
      return conversation.client.info
    }
  }

  private func refusal(
    of certificate: TestCertificate, chain: [TestCertificate] = [], trusting trusted: [TestCertificate],
    for domain: String = "example.org"
  ) throws -> String {
    let error = try #require(throws: TransportError.self) {
      try connect(to: domain, showing: certificate, chain: chain, trusting: trusted)
    }
    #expect(error.code == .certificateRejected)
    return error.message
  }

  private let authority: TestCertificate

  init() throws {
    authority = try TestCertificate(commonName: "Test CA", names: nil, isCA: true)
  }

  @Test(
    "A certificate that names the domain is accepted.",
    arguments: [
      "DNS:example.org", "DNS:EXAMPLE.org", "DNS:*.example.net,DNS:example.org",
      "otherName:1.3.6.1.5.5.7.8.5;UTF8:example.org",
      "otherName:1.3.6.1.5.5.7.8.7;IA5:_xmpp-client.example.org",
      "otherName:1.3.6.1.5.5.7.8.7;IA5:_xmpps-client.Example.org",
    ])
  func accepted(names: String) throws {
    let certificate = try TestCertificate(names: names, issuer: authority)
    let info = try connect(showing: certificate, trusting: [authority])
    #expect(info?.peerCertificateSHA256 == certificate.sha256)
  }

  @Test(
    "A certificate for other names is refused, whatever its common name is.",
    arguments: [
      "DNS:other.example", "DNS:xmpp.example.org", "DNS:*.example.org", "DNS:*.org", "DNS:*", "DNS:e*.org",
      "DNS:example.org.evil.example", "IP:127.0.0.1", "email:example.org@example.org", "URI:xmpp:example.org",
      "otherName:1.3.6.1.5.5.7.8.5;UTF8:other.example", "otherName:1.3.6.1.5.5.7.8.5;UTF8:user@example.org",
      "otherName:1.3.6.1.5.5.7.8.7;IA5:_xmpp-server.example.org",
      "otherName:1.3.6.1.5.5.7.8.7;IA5:_xmpp-client.xmpp.example.org",
    ])
  func otherNames(names: String) throws {
    let certificate = try TestCertificate(commonName: "example.org", names: names, issuer: authority)
    let message = try refusal(of: certificate, trusting: [authority])
    #expect(message.contains("it is not for this domain"))
    #expect(message.contains("CN=example.org") && message.contains("CN=Test CA"))
  }

  @Test("A certificate without subjectAltName is refused, since the common name does not count.")
  func commonNameOnly() throws {
    let certificate = try TestCertificate(commonName: "example.org", names: nil, issuer: authority)
    #expect(try refusal(of: certificate, trusting: [authority]).contains("names: none"))
  }

  @Test("A wildcard in a certificate stands for exactly one whole label.")
  func wildcard() throws {
    let certificate = try TestCertificate(names: "DNS:*.example.org", issuer: authority)
    #expect(try connect(to: "chat.example.org", showing: certificate, trusting: [authority]) != nil)
    _ = try refusal(of: certificate, trusting: [authority], for: "a.chat.example.org")
    let partial = try TestCertificate(names: "DNS:ch*.example.org", issuer: authority)
    _ = try refusal(of: partial, trusting: [authority], for: "chat.example.org")
  }

  @Test("A domain that is an IP address requires a certificate with that address.")
  func addresses() throws {
    let certificate = try TestCertificate(names: "IP:127.0.0.1,IP:::1", issuer: authority)
    #expect(try connect(to: "127.0.0.1", showing: certificate, trusting: [authority]) != nil)
    #expect(try connect(to: "::1", showing: certificate, trusting: [authority]) != nil)
    _ = try refusal(of: certificate, trusting: [authority], for: "127.0.0.2")
    let named = try TestCertificate(names: "DNS:127.0.0.1", issuer: authority)
    _ = try refusal(of: named, trusting: [authority], for: "127.0.0.1")
  }

  @Test("An xmppAddr in a certificate may write the domain in Unicode.")
  func unicodeAddress() throws {
    let address = Array("bücher.example".utf8)
    let string = [0x0C, UInt8(address.count)] + address
    let name =
      [0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x08, 0x05, 0xA0, UInt8(string.count)] + string
    let names = [0x30, UInt8(name.count + 2), 0xA0, UInt8(name.count)] + name
    let hex = names.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let certificate = try TestCertificate(names: "DER:" + hex, issuer: authority)
    let info = try connect(
      to: "xn--bcher-kva.example", showing: certificate, trusting: [authority],
      unicodeDomain: "bücher.example")
    #expect(info != nil)
  }

  @Test("An XMPP name in a certificate does not evade the name constraints of its authority.")
  func nameConstraints() throws {
    let limited = try TestCertificate(
      commonName: "Limited CA", names: nil, issuer: authority, isCA: true,
      extensions: [(NID_name_constraints, "critical,permitted;DNS:allowed.example")])
    let certificate = try TestCertificate(
      names: "otherName:1.3.6.1.5.5.7.8.5;UTF8:example.org", issuer: limited)
    _ = try refusal(of: certificate, chain: [limited], trusting: [authority])
  }

  @Test("A self-signed certificate for the domain is accepted only if it is the CA file itself.")
  func selfSigned() throws {
    for isCA in [false, true] {
      let certificate = try TestCertificate(isCA: isCA)
      #expect(try connect(showing: certificate, trusting: [certificate]) != nil)
      let message = try refusal(of: certificate, trusting: [authority])
      #expect(message.contains("self-signed certificate"))
    }
  }

  @Test(
    "A server's certificate is accepted if it is the CA file itself, though another authority has signed it."
  )
  func leafAsAnchor() throws {
    let certificate = try TestCertificate(issuer: authority)
    #expect(try connect(showing: certificate, trusting: [certificate]) != nil)
  }

  @Test("A certificate in the CA file that does not belong to an authority cannot sign other certificates.")
  func leafActingAsCA() throws {
    let signing: [(Int32, String)] = [(NID_key_usage, "critical,digitalSignature,keyCertSign")]
    for extensions in [[], signing] {
      let leaf = try TestCertificate(commonName: "leaf", issuer: authority, extensions: extensions)
      let forged = try TestCertificate(issuer: leaf)
      _ = try refusal(of: forged, chain: [leaf], trusting: [authority])
      _ = try refusal(of: forged, chain: [leaf], trusting: [leaf])
      let alone = try TestCertificate(commonName: "leaf", extensions: extensions)
      _ = try refusal(of: TestCertificate(issuer: alone), chain: [alone], trusting: [alone])
    }
  }

  @Test("An intermediate authority is accepted if the server sends it or the CA file contains it.")
  func intermediate() throws {
    let middle = try TestCertificate(commonName: "Middle CA", names: nil, issuer: authority, isCA: true)
    let certificate = try TestCertificate(issuer: middle)
    #expect(try connect(showing: certificate, chain: [middle], trusting: [authority]) != nil)
    #expect(try connect(showing: certificate, trusting: [middle]) != nil)
    _ = try refusal(of: certificate, trusting: [authority])
  }

  @Test("A certificate that has expired or is not yet valid is refused with its dates.")
  func dates() throws {
    let expired = try TestCertificate(issuer: authority, validity: -30..<(-1))
    let message = try refusal(of: expired, trusting: [authority])
    #expect(message.contains("expired") && message.contains("valid from") && message.contains("GMT"))
    let early = try TestCertificate(issuer: authority, validity: 2..<30)
    #expect(try refusal(of: early, trusting: [authority]).contains("not yet valid"))
  }

  @Test("A certificate with a SHA-1 signature is refused.")
  func sha1() throws {
    let certificate = try TestCertificate(issuer: authority, hash: EVP_sha1())
    #expect(try refusal(of: certificate, trusting: [authority]).contains("digest"))
    let middle = try TestCertificate(
      commonName: "Middle", names: nil, issuer: authority, isCA: true, hash: EVP_sha1())
    _ = try refusal(of: TestCertificate(issuer: middle), chain: [middle], trusting: [authority])
  }

  @Test("A certificate that is valid only for clients is refused.")
  func clientOnly() throws {
    let certificate = try TestCertificate(issuer: authority, extensions: [(NID_ext_key_usage, "clientAuth")])
    #expect(try refusal(of: certificate, trusting: [authority]).contains("purpose"))
  }

  @Test("A certificate of an unknown authority is refused with a CA file and with the system's authorities.")
  func unknownAuthority() throws {
    let stranger = try TestCertificate(commonName: "Stranger CA", names: nil, isCA: true)
    let certificate = try TestCertificate(issuer: stranger)
    _ = try refusal(of: certificate, trusting: [authority])
    _ = try refusal(of: certificate, chain: [stranger], trusting: [authority])
    let error = try #require(throws: TransportError.self) {
      var conversation = try Conversation(
        TLSConfiguration(domain: "example.org"), MemoryTLSServer(certificate))
      try conversation.talk()
    }
    #expect(error.code == .certificateRejected)
  }

  @Test("An authority in the system's bundle file is trusted under the same rules as any other.")
  func systemFile() throws {
    try TestCertificate.withFile([authority]) { path in
      func connect(showing certificate: TestCertificate) throws -> TLSInfo? {
        let context = try TLSContext(TLSConfiguration(domain: "example.org"), systemFile: path)
        var conversation = try Conversation(context, MemoryTLSServer(certificate))
        try conversation.talk()
        return conversation.client.info
      }
      #expect(try connect(showing: TestCertificate(issuer: authority)) != nil)
      for hostile in [
        try TestCertificate(names: "DNS:other.example", issuer: authority),
        try TestCertificate(issuer: authority, hash: EVP_sha1()),
        try TestCertificate(issuer: authority, validity: -9..<(-1)),
        try TestCertificate(issuer: authority, extensions: [(NID_ext_key_usage, "clientAuth")]),
      ] {
        let error = #expect(throws: TransportError.self) { try connect(showing: hostile) }
        #expect(error?.code == .certificateRejected)
      }
    }
  }

  @Test("A pinned certificate is accepted whatever it contains, and no other certificate is.")
  func pin() throws {
    let odd = try TestCertificate(names: "DNS:other.example", validity: -30..<(-1), hash: EVP_sha1())
    let configuration = TLSConfiguration(domain: "example.org", pinnedCertificateSHA256: odd.sha256)
    var conversation = try Conversation(configuration, MemoryTLSServer(odd))
    try conversation.talk()
    #expect(conversation.client.info?.peerCertificateSHA256 == odd.sha256)

    let good = try TestCertificate(issuer: authority)
    let error = try #require(throws: TransportError.self) {
      try TestCertificate.withFile([authority]) { path in
        var configuration = configuration
        configuration.caFile = path
        var conversation = try Conversation(configuration, MemoryTLSServer(good))
        try conversation.talk()
      }
    }
    #expect(error.code == .certificateRejected)
    #expect(error.message.contains("pinned"))
  }

  @Test("The names in a refused certificate are escaped and cut in the error message.")
  func hostileText() throws {
    let nasty = "\u{1B}]0;owned\u{07}\r\n\u{202E}" + String(repeating: "x", count: 40)
    let names = (0..<40).map { "DNS:n\($0)." + String(repeating: "y", count: 240) }.joined(separator: ",")
    let certificate = try TestCertificate(commonName: nasty, names: names, issuer: authority)
    let message = try refusal(of: certificate, trusting: [authority])
    #expect(message.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
    #expect(message.utf8.count < 2_000)
  }

  @Test("A CA file that is missing or contains no certificate is reported before anything is sent.")
  func unusableFiles() {
    for path in ["/nonexistent/ca.pem", "/dev/null", "/etc/hostname", "/tmp"] {
      let error = #expect(throws: TransportError.self) {
        try TLSContext(TLSConfiguration(domain: "example.org", caFile: path))
      }
      #expect(error?.code == .invalidConfiguration)
      #expect(error?.message.contains(path) == true)
    }
  }

  @Test("Invalid TLS settings are reported as an invalid configuration.")
  func unusableSettings() {
    for configuration in [
      TLSConfiguration(domain: "example.org", pinnedCertificateSHA256: [1, 2, 3]),
      TLSConfiguration(domain: "example.org", alpn: [""]),
      TLSConfiguration(domain: "example.org", alpn: [String(repeating: "a", count: 256)]),
    ] {
      let error = #expect(throws: TransportError.self) { try TLSContext(configuration) }
      #expect(error?.code == .invalidConfiguration)
    }
  }
}
