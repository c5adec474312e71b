import AgentProtocol
import AgentStore
import FoundationEssentials
import Glibc
import XMPP
import XMPPSASL
import XMPPTransport

// Which mechanism carries what.

extension LoginPlan {
  /// What each kind gives to the mechanisms.
  package func credentials(presenting presented: ResolvedCredentials) -> SASLCredentials {
    var credentials = SASLCredentials(authcid: credential.authcid ?? account.local ?? "")
    // Another name stands for another identity, unless told (RFC 6120 §6.3.8).
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

  /// The mechanisms that a kind may use; a token is never given to one that is for passwords.
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

  /// Whether a server that offers these takes a token only as a bearer's: PLAIN is not used where there is SCRAM.
  func wantsBearer(offered: [SASLMechanismName]) -> Bool {
    switch credential.kind {
    case .token, .jwt, .thirdParty:
      !usesBearer && (!offered.contains(.plain) || offered.contains(where: \.isSCRAM))
        && !Self.bearer.isDisjoint(with: offered)
    case .password, .email, .anonymous, .external, .function, .apiKey: false
    }
  }

  /// Token and login extension for who reads only one secret.
  private static func packed(_ presented: ResolvedCredentials, asJSON: Bool) -> Secret? {
    guard asJSON else { return presented.token?.token ?? presented.loginExtension.map { Secret($0) } }
    struct Pack: Encodable { var token, ext: String? }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let pack = Pack(token: presented.token?.token.value, ext: presented.loginExtension)
    return (try? encoder.encode(pack)).map { Secret(String(decoding: $0, as: UTF8.self)) }
  }

  /// Whether the server was not given the login extension: neither the profile nor the mechanism has room for it.
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

  /// Who is nobody has no device either.
  var userAgent: UserAgent? {
    guard credential.kind != .anonymous else { return nil }
    return deviceId.map { UserAgent(id: $0, software: "imctl", device: device.name ?? Self.hostName) }
  }

  /// Of this machine.
  package static let hostName: String? = {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }()

  /// A new installation.
  package static func newDeviceId() -> String { UUID().uuidString.lowercased() }
}

extension LoginPlan {
  /// A login of this plan succeeded: what it has given is there for the next.
  package mutating func succeeded(
    _ bound: BoundStream, presenting presented: ResolvedCredentials?, offer: AuthenticationOffer?
  ) {
    let pinned = server?.mechanism
    server = KnownServer(bound, offer: offer, before: server, objections: objections)
    // Only what was done with a password is asked of the server again.
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

// What a refusal means, and what may be tried at once, each at most once.

extension LoginPlan {
  /// What a failure means for what was presented.
  ///
  /// - Parameters:
  ///   - mechanism: the last one that was tried, if any was.
  ///   - offered: what the server offers.
  ///   - now: seconds since 1970.
  package func interpret(
    _ failure: Failure, of mechanism: SASLMechanismName?, offered: [SASLMechanismName] = [],
    presented: ResolvedCredentials?, at now: Double
  ) -> Failure {
    if mechanism?.isDeviceToken == true {
      switch failure.name {
      // Why it is not taken any more nobody says: the server may have lost it.
      case .authFailed, .tokenExpired:
        return failure.renamed(hasMoreThanDeviceToken ? .tokenExpired : .sessionExpired)
      default: return failure
      }
    }
    switch (failure.name, credential.kind) {
    // Somebody else has refused whom the server only asked.
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

  /// Why nothing that the server offers carries what would go where a password does; nil where that is not why.
  private func noWay(
    _ offered: [SASLMechanismName], _ key: FailureDetail.Login, _ keyBesideSCRAM: FailureDetail.Login
  ) -> FailureDetail? {
    let hasPlain = offered.contains(.plain)
    guard !usesBearer, !offered.isEmpty, !hasPlain || offered.contains(where: \.isSCRAM) else { return nil }
    let list = offered.prefix(16).map(\.rawValue).joined(separator: ", ")
    return .login(hasPlain ? keyBesideSCRAM : key, list)
  }

  /// The server has taken the token before: what it refuses now has expired or was revoked.
  private func wasAccepted(_ token: IssuedToken?) -> Bool {
    guard let token, !isGiven else { return false }
    return token == credential.token || token == credential.issued
  }

  private var hasMoreThanDeviceToken: Bool { credential.isUsable || !scramKeys.isEmpty }

  /// The device token was all there is, and has expired: known before anybody is asked.
  package var sessionExpiry: Failure? {
    guard let expiredToken, !hasMoreThanDeviceToken else { return nil }
    return Failure(
      .sessionExpired, stage: .authenticate, detail: expiredToken.expiry.map { .login(.expired, $0) })
  }

  /// Changes the plan to what may help at once after `failure`, as
  /// ``interpret(_:of:offered:presented:at:)`` gave it; false where nothing does.
  package mutating func reconsider(
    after failure: Failure, of mechanism: SASLMechanismName?, offered: [SASLMechanismName],
    presented: ResolvedCredentials?
  ) -> Bool {
    if deviceToken != nil, hasMoreThanDeviceToken {
      let isOver = mechanism?.isDeviceToken == true && failure.name == .tokenExpired
      // Nothing else was asked for yet, and the server does not take the token at all.
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

  /// The device token is tried alone where anything else has to be asked for first, or may have expired.
  package var isDeviceTokenEnough: Bool {
    guard deviceToken != nil, !needsFreshToken else { return false }
    return credential.kind.usesToken
      || (credential.password == nil && credential.passwordCommand != nil)
  }
}

extension SASLMechanismName {
  /// A mechanism for the server's token for a device (XEP-0484).
  package var isDeviceToken: Bool { rawValue.hasPrefix("HT-") }
}

extension LoginKind {
  /// The policy, where it makes no sense for this kind.
  func refusedPolicy(_ policy: StorePolicy?) -> StorePolicy? {
    guard policy == .keys, self != .password, self != .email else { return nil }
    return policy
  }
}

extension Failure {
  /// The same under a name that says more.
  func renamed(_ name: Name, detail: FailureDetail? = nil) -> Failure {
    Failure(name, stage: stage, detail: detail ?? self.detail, condition: condition, text: text)
  }
}
