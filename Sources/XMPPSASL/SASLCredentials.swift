/// The identity and secrets of a login.
public struct SASLCredentials: Sendable {
  /// The authentication identity: in XMPP usually the localpart of the JID.
  public var authcid: String
  /// The authorization identity, if it is not the one of `authcid` (RFC 6120 §6.3.8).
  public var authzid: String?
  public var password: Secret?
  /// The keys derived in earlier logins, which save the derivation or replace the password.
  public var scramKeys: [SCRAMKeys]
  /// A bearer token of a third party (RFC 6750), for OAUTHBEARER and X-OAUTH2 only.
  public var bearerToken: Secret?
  /// The server's own token for this device.
  public var fastToken: FASTToken?
  /// Whether TLS presents a client certificate: EXTERNAL, where there is no other credential.
  public var hasCertificate = false
  /// Whether to accept any identity from the server, with ANONYMOUS only.
  public var isAnonymous = false
  /// Additional text for the verifier of the login, where the mechanism has a field for it.
  public var loginExtension: String?

  public init(authcid: String, authzid: String? = nil, password: Secret? = nil, scramKeys: [SCRAMKeys] = []) {
    self.authcid = authcid
    self.authzid = authzid
    self.password = password
    self.scramKeys = scramKeys
  }
}

extension SASLCredentials {
  /// The kind of credentials; each mechanism is for one kind.
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
  /// The name alone: a login extension may be secret, too.
  public var description: String { "credentials of \(authcid)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["authcid": authcid]) }
}

/// The properties of the stream that mechanisms need.
public struct SASLContext: Sendable {
  /// Whether TLS protects the stream, with the certificate verified.
  public var isEncrypted: Bool
  /// The channel bindings of TLS with their data (RFC 5056); empty where there is none.
  public var channelBindings: [ChannelBindingType: [UInt8]]

  public init(isEncrypted: Bool, channelBindings: [ChannelBindingType: [UInt8]] = [:]) {
    self.isEncrypted = isEncrypted
    self.channelBindings = channelBindings
  }
}
