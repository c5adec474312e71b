import AgentProtocol
import AgentStore
import FoundationEssentials
import Glibc
import XMPP
import XMPPSASL
import XMPPTransport

// The mapping of credentials to mechanisms.

extension LoginPlan {
  /// The credentials for the SASL mechanisms, depending on the login kind.
  package func credentials(presenting presented: ResolvedCredentials) -> SASLCredentials {
    var credentials = SASLCredentials(authcid: credential.authcid ?? account.local ?? "")
    // By default another authcid means another identity (RFC 6120 §6.3.8).
    if let authcid = credential.authcid, authcid != account.local {
      credentials.authzid = account.description
    }
    let token = presented.token?.token
    switch credential.kind {
    case .password, .email:
      credentials.password = presented.password
      credentials.scramKeys = scramKeys
    case .function: credentials.password = presented.password
    case .anonymous: credentials.isAnonymous = true
    case .external: credentials.hasCertificate = true
    case .token, .jwt:
      if usesBearer {
        credentials.bearerToken = token
      } else {
        credentials.password = token
      }
    case .apiKey: credentials.bearerToken = token
    case .thirdParty:
      if usesBearer {
        credentials.bearerToken = token
      } else {
        credentials.password = Self.packed(presented, asJSON: credential.extInPassword)
      }
    }
    credentials.fastToken = deviceToken?.forSASL
    credentials.loginExtension = presented.loginExtension
    return credentials
  }

  /// The mechanisms that the kind may use; a token is never given to a mechanism for passwords.
  package var policy: SASLPolicy {
    switch credential.kind {
    case .password, .email: server?.policy ?? SASLPolicy()
    case .anonymous: SASLPolicy(allowed: [.anonymous])
    case .external: SASLPolicy(allowed: [.external])
    case .function: SASLPolicy(allowed: [.plain])
    case .token, .jwt, .thirdParty: SASLPolicy(allowed: usesBearer ? Self.bearer : [.plain])
    case .apiKey: SASLPolicy(allowed: Self.bearer)
    }
  }

  private static let bearer: Set<SASLMechanismName> = [.oauthBearer, .xOAuth2]

  /// Whether a server with these mechanisms takes a token only as a bearer token: PLAIN is not used beside SCRAM.
  func wantsBearer(offered: [SASLMechanismName]) -> Bool {
    switch credential.kind {
    case .token, .jwt, .thirdParty:
      !usesBearer && (!offered.contains(.plain) || offered.contains(where: \.isSCRAM))
        && !Self.bearer.isDisjoint(with: offered)
    case .password, .email, .anonymous, .external, .function, .apiKey: false
    }
  }

  /// Token and login extension in one secret, for servers that read only one.
  private static func packed(_ presented: ResolvedCredentials, asJSON: Bool) -> Secret? {
    guard asJSON else { return presented.token?.token ?? presented.loginExtension.map { Secret($0) } }
    struct Pack: Encodable { var token, ext: String? }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let pack = Pack(token: presented.token?.token.value, ext: presented.loginExtension)
    return (try? encoder.encode(pack)).map { Secret(String(decoding: $0, as: UTF8.self)) }
  }

  /// Whether the login extension was not sent, because neither profile nor mechanism has a field for it.
  package func leavesOutExtension(of presented: ResolvedCredentials?, in bound: BoundStream) -> Bool {
    guard let presented, presented.loginExtension?.isEmpty == false else { return false }
    if bound.usesSASL2 || bound.mechanism == .oauthBearer { return false }
    let isInPassword = credential.extInPassword || presented.token == nil
    return !(credential.kind == .thirdParty && bound.mechanism == .plain && isInPassword)
  }

  var clientCertificate: ClientCertificate? {
    guard credential.kind == .external, let chain = credential.certFile, let key = credential.keyFile else {
      return nil
    }
    return ClientCertificate(chainFile: chain, keyFile: key)
  }

  /// The user agent of the login; an anonymous login has none.
  var userAgent: UserAgent? {
    guard credential.kind != .anonymous else { return nil }
    return deviceId.map { UserAgent(id: $0, software: "imctl", device: device.name ?? Self.hostName) }
  }

  /// The host name of this machine.
  package static let hostName: String? = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }()

  /// A random ID for a new installation.
  package static func newDeviceId() -> String { UUID().uuidString.lowercased() }
}

extension LoginPlan {
  /// Records a successful login: its results are used by the next one.
  package mutating func succeeded(
    _ bound: BoundStream, presenting presented: ResolvedCredentials?, offer: AuthenticationOffer?
  ) {
    let pinned = server?.mechanism
    server = KnownServer(bound, offer: offer, before: server, objections: objections)
    // Only a mechanism that has used a password is pinned.
    if credential.kind != .password && credential.kind != .email { server?.mechanism = pinned }
    objections = 0
    needsFreshToken = false
    isRenewed = false
    refused = nil
    expiredToken = nil
    tokenAnswer = nil
    if bound.isTokenRefused { deviceToken = nil }
    deviceToken = bound.fastToken.flatMap { DeviceToken($0) } ?? deviceToken
    if let keys = bound.scramKeys { scramKeys = [keys] + scramKeys.filter { $0.hash != keys.hash } }
    if credential.tokenCommand != nil, let presented, !presented.isFallback, let token = presented.token {
      credential.issued = token.expires == nil ? nil : token
    }
  }
}

// The meaning of failures, and retries in another way, each at most once.

extension LoginPlan {
  /// Refines a failure according to the credentials that were presented.
  ///
  /// - Parameters:
  ///   - mechanism: the last mechanism that was tried, if any.
  ///   - offered: the mechanisms of the server.
  ///   - now: seconds since 1970.
  package func interpret(
    _ failure: Failure, of mechanism: SASLMechanismName?, offered: [SASLMechanismName] = [],
    presented: ResolvedCredentials?, at now: Double
  ) -> Failure {
    if mechanism?.isDeviceToken == true {
      switch failure.name {
      // The server does not tell why it refuses the device token; it may have lost it.
      case .authFailed, .tokenExpired:
        return failure.renamed(hasMoreThanDeviceToken ? .tokenExpired : .sessionExpired)
      default: return failure
      }
    }
    switch (failure.name, credential.kind) {
    // The server asked a third party, which has refused the token.
    case (.tokenIncorrect, .thirdParty), (.authFailed, .thirdParty):
      return failure.renamed(.authFailed, detail: .login(.tokenRefused))
    case (.authFailed, .function):
      return failure.renamed(.authFailed, detail: .login(.documentRefused))
    case (.mechanismUnavailable, .token), (.mechanismUnavailable, .jwt), (.mechanismUnavailable, .thirdParty):
      return failure.renamed(
        failure.name,
        detail: noWay(offered, .noMechanismForToken, .noMechanismForTokenBesideSCRAM) ?? failure.detail)
    case (.mechanismUnavailable, .function):
      return failure.renamed(
        failure.name,
        detail: noWay(offered, .noMechanismForDocument, .noMechanismForDocumentBesideSCRAM) ?? failure.detail)
    case (.authFailed, .token), (.authFailed, .jwt), (.authFailed, .apiKey), (.tokenIncorrect, _):
      let claims = presented?.token.flatMap { try? JSONWebToken($0.token.value) }
      let isExpired =
        claims?.isExpired(at: now) == true || presented?.token?.isExpired(at: now) == true
        || wasAccepted(presented?.token)
      return failure.renamed(isExpired ? .tokenExpired : .tokenIncorrect, detail: claims?.destination)
    default: return failure
    }
  }

  /// Explains why no offered mechanism can carry the secret in the place of a password; nil where that is not the
  /// reason.
  private func noWay(
    _ offered: [SASLMechanismName], _ key: FailureDetail.Login, _ keyBesideSCRAM: FailureDetail.Login
  ) -> FailureDetail? {
    let hasPlain = offered.contains(.plain)
    guard !usesBearer, !offered.isEmpty, !hasPlain || offered.contains(where: \.isSCRAM) else { return nil }
    let list = offered.prefix(16).map(\.rawValue).joined(separator: ", ")
    return .login(hasPlain ? keyBesideSCRAM : key, list)
  }

  /// Whether the server has accepted the token before, so that it has expired or was revoked since.
  private func wasAccepted(_ token: IssuedToken?) -> Bool {
    guard let token, !isGiven else { return false }
    return token == credential.token || token == credential.issued
  }

  private var hasMoreThanDeviceToken: Bool { credential.isUsable || !scramKeys.isEmpty }

  /// The failure for a plan whose only credential is an expired device token; known before the server is contacted.
  package var sessionExpiry: Failure? {
    guard let expiredToken, !hasMoreThanDeviceToken else { return nil }
    return Failure(
      .sessionExpired, stage: .authenticate, detail: expiredToken.expiry.map { .login(.expired, $0) })
  }

  /// Changes the plan so that it may succeed at once after `failure`, as refined by
  /// ``interpret(_:of:offered:presented:at:)``; returns false where no change can help.
  package mutating func reconsider(
    after failure: Failure, of mechanism: SASLMechanismName?, offered: [SASLMechanismName],
    presented: ResolvedCredentials?
  ) -> Bool {
    if deviceToken != nil, hasMoreThanDeviceToken {
      let isOver = mechanism?.isDeviceToken == true && failure.name == .tokenExpired
      // The server does not support the device token, and no other credential was resolved yet.
      let isUnwanted = failure.name == .mechanismUnavailable && isDeviceTokenEnough
      if isOver || isUnwanted {
        deviceToken = nil
        return true
      }
    }
    if failure.name == .mechanismUnavailable, wantsBearer(offered: offered) {
      usesBearer = true
      return true
    }
    if FailureTable[failure.name]?.retry == .freshToken, mechanism?.isDeviceToken != true,
      credential.tokenCommand != nil, !needsFreshToken
    {
      needsFreshToken = true
      refused = presented?.token.map { Refusal(token: $0.token, failure: failure) }
      tokenAnswer = nil
      credential.issued = nil
      return true
    }
    return false
  }

  /// Whether the device token is tried alone, because another credential would have to be asked for or may have
  /// expired.
  package var isDeviceTokenEnough: Bool {
    guard deviceToken != nil, !needsFreshToken else { return false }
    return credential.kind.usesToken
      || (credential.password == nil && credential.passwordCommand != nil)
  }
}

extension SASLMechanismName {
  /// Whether the mechanism is for device tokens (XEP-0484).
  package var isDeviceToken: Bool { rawValue.hasPrefix("HT-") }
}

extension LoginKind {
  /// Returns the policy if it makes no sense for this kind.
  func refusedPolicy(_ policy: StorePolicy?) -> StorePolicy? {
    guard policy == .keys, self != .password, self != .email else { return nil }
    return policy
  }
}

extension Failure {
  /// The same failure with a more specific name.
  func renamed(_ name: Name, detail: FailureDetail? = nil) -> Failure {
    Failure(name, stage: stage, detail: detail ?? self.detail, condition: condition, text: text)
  }
}
