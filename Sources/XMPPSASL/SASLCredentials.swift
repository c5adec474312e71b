/// Who logs in, and with what.
public struct SASLCredentials: Sendable {
  /// The authentication identity: with XMPP nearly always the localpart of the JID.
  public var authcid: String
  /// The identity to act as, where it is not the one that `authcid` stands for (RFC 6120 §6.3.8).
  public var authzid: String?
  public var password: Secret?
  /// Keys derived at earlier logins, which save the derivation or stand in for the password.
  public var scramKeys: [SCRAMKeys]
  /// Somebody's word for who logs in (RFC 6750): OAUTHBEARER and X-OAUTH2, and no other mechanism.
  public var bearerToken: Secret?
  /// The server's own token for this device.
  public var fastToken: FASTToken?
  /// TLS shows a client certificate: EXTERNAL, where there is nothing else to log in with.
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

extension SASLCredentials {
  /// What they are good for: each mechanism serves one kind.
  enum Kind: String, Sendable {
    case password = "a password"
    case bearerToken = "a token"
    case certificate = "a certificate"
    case anonymous = "an anonymous login"
  }

  var kind: Kind {
    if isAnonymous { return .anonymous }
    if bearerToken != nil { return .bearerToken }
    return hasCertificate && password == nil && scramKeys.isEmpty ? .certificate : .password
  }

  var hasKeysOnly: Bool { kind == .password && password == nil && !scramKeys.isEmpty }
}

extension SASLCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name alone: a login extension, too, may be somebody's secret.
  public var description: String { "credentials of \(authcid)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["authcid": authcid]) }
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
