/// What a TLS connection must prove, and how it is asked for.
public struct TLSConfiguration: Sendable, Hashable {
  /// The lowest TLS version spoken; older ones are never offered (RFC 9325 §3.1.1).
  public enum Version: Int, Sendable, Hashable {
    case tls12
    case tls13
  }

  /// The reference identity and the name sent as SNI: the domain of the JID, never the SRV target (RFC 6120 §13.7.2).
  ///
  /// ASCII (A-labels), or an IP address.
  public var domain: String
  /// The domain as JIDs write it, where that differs (U-labels): compared with the certificate's xmppAddr.
  public var unicodeDomain: String?
  /// A PEM file whose certificates are trusted instead of the system's; a server's own certificate may stand in it.
  public var caFile: String?
  /// The SHA-256 digest of the DER form of the only acceptable server certificate.
  ///
  /// Its issuer, names and dates are not looked at then: the user has vouched for this very certificate.
  public var pinnedCertificateSHA256: [UInt8]?
  /// Protocols offered with ALPN (RFC 7301); for direct TLS (XEP-0368 §3). A server may ignore it.
  public var alpn: [String]
  public var minimumVersion: Version
  /// What the client shows when the server asks for a certificate, for SASL EXTERNAL.
  public var clientCertificate: ClientCertificate?
  /// Ask for sessions that later connections can resume, and resume them (RFC 8446 §2.2, RFC 5077).
  public var resumesSessions = false

  public init(
    domain: String, unicodeDomain: String? = nil, caFile: String? = nil,
    pinnedCertificateSHA256: [UInt8]? = nil, alpn: [String] = ["xmpp-client"],
    minimumVersion: Version = .tls12
  ) {
    self.domain = domain
    self.unicodeDomain = unicodeDomain
    self.caFile = caFile
    self.pinnedCertificateSHA256 = pinnedCertificateSHA256
    self.alpn = alpn
    self.minimumVersion = minimumVersion
  }
}
