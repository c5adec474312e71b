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

/// What a completed TLS handshake agreed on.
public struct TLSInfo: Sendable, Hashable {
  /// As OpenSSL writes it, for example `TLSv1.3`.
  public var version: String
  /// As OpenSSL writes it, for example `TLS_AES_256_GCM_SHA384`.
  public var cipher: String
  /// The protocol the server chose by ALPN, if it did.
  public var alpn: String?
  /// SHA-256 digest (32 octets) of the server's certificate in DER form.
  public var peerCertificateSHA256: [UInt8]
  public var channelBindings = TLSChannelBindings()
  /// The handshake resumed an earlier session (RFC 8446 §2.2).
  public var isResumed = false

  public init(version: String, cipher: String, alpn: String? = nil, peerCertificateSHA256: [UInt8]) {
    self.version = version
    self.cipher = cipher
    self.alpn = alpn
    self.peerCertificateSHA256 = peerCertificateSHA256
  }
}

/// What authentication can be bound to, so that nobody in between can pass it on (RFC 5056).
public struct TLSChannelBindings: Sendable, Hashable {
  /// `tls-exporter` (RFC 9266), 32 octets. Only where it is safe: TLS 1.3, or 1.2 with extended master secret.
  public var exporter: [UInt8]?
  /// `tls-unique` (RFC 5929 §3): TLS 1.2 with extended master secret (RFC 7627), nothing else.
  public var unique: [UInt8]?
  /// `tls-server-end-point` (RFC 5929 §4): a digest of the server's certificate.
  public var serverEndPoint: [UInt8]?

  public init() {}
}
