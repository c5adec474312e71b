/// The settings of a TLS connection.
public struct TLSConfiguration: Sendable, Hashable {
  /// The lowest accepted TLS version; older ones are never offered (RFC 9325 §3.1.1).
  public enum Version: Int, Sendable, Hashable {
    case tls12
    case tls13
  }

  /// The reference identity and the name for SNI: the domain of the JID, never the SRV target (RFC 6120 §13.7.2).
  ///
  /// ASCII (A-labels), or an IP address.
  public var domain: String
  /// The domain in U-labels if that differs, for comparison with the certificate's xmppAddr.
  public var unicodeDomain: String?
  /// A PEM file with the trusted certificates, instead of the system's; it may contain the server's own certificate.
  public var caFile: String?
  /// The SHA-256 digest of the DER form of the only accepted server certificate.
  ///
  /// Its issuer, names and dates are then ignored, because the user has confirmed this certificate.
  public var pinnedCertificateSHA256: [UInt8]?
  /// The protocols to offer with ALPN (RFC 7301) for direct TLS (XEP-0368 §3). Servers may ignore them.
  public var alpn: [String]
  public var minimumVersion: Version
  /// The client certificate for servers that request one, for SASL EXTERNAL.
  public var clientCertificate: ClientCertificate?
  /// Whether to request sessions that later connections can resume, and to resume them (RFC 8446 §2.2, RFC 5077).
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
