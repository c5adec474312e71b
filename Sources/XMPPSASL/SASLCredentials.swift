/// Who logs in, and with what.
public struct SASLCredentials: Sendable {
  /// The authentication identity: with XMPP nearly always the localpart of the JID.
  public var authcid: String
  /// The identity to act as, where it is not the one that `authcid` stands for (RFC 6120 §6.3.8).
  public var authzid: String?
  public var password: Secret?
  /// Keys derived at earlier logins, which save the derivation or stand in for the password.
  public var scramKeys: [SCRAMKeys]
  /// Somebody's word for who logs in (RFC 6750), for OAUTHBEARER and X-OAUTH2.
  public var bearerToken: Secret?
  /// The server's own token for this device.
  public var fastToken: FASTToken?
  /// TLS shows a client certificate: EXTERNAL.
  public var hasCertificate = false
  /// Wants whatever identity the server gives, and no other mechanism than ANONYMOUS.
  public var isAnonymous = false
  /// Free text for whoever checks the login, where the mechanism has room for it.
  public var loginExtension: String?

  public init(authcid: String, authzid: String? = nil, password: Secret? = nil, scramKeys: [SCRAMKeys] = []) {
    self.authcid = authcid
    self.authzid = authzid
    self.password = password
    self.scramKeys = scramKeys
  }
}

/// The stream that carries an authentication, as far as mechanisms must know it.
public struct SASLContext: Sendable {
  /// Whether TLS protects the stream, with the certificate verified.
  public var isEncrypted: Bool
  /// What TLS can bind to, with the data of each (RFC 5056). Empty: no mechanism binds to the channel.
  public var channelBindings: [ChannelBindingType: [UInt8]]

  public init(isEncrypted: Bool, channelBindings: [ChannelBindingType: [UInt8]] = [:]) {
    self.isEncrypted = isEncrypted
    self.channelBindings = channelBindings
  }
}

/// The registered name of a channel binding (RFC 5056 §7).
public struct ChannelBindingType: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public var description: String { rawValue }

  /// RFC 9266, TLS 1.3.
  public static let tlsExporter = Self(rawValue: "tls-exporter")
  /// RFC 5929 §3, TLS 1.2 and before.
  public static let tlsUnique = Self(rawValue: "tls-unique")
  /// RFC 5929 §4, the server's certificate.
  public static let tlsServerEndPoint = Self(rawValue: "tls-server-end-point")
}
