/// Chooses among the mechanisms of a server's offer. Pure.
public enum SASLMechanismChoice {
  /// All mechanisms of this library, strongest first for each kind of credentials. A new mechanism is one file and one
  /// line here.
  static let candidates: [SASLCandidate] = [
    SCRAMMechanism.candidate(.sha512, bindsChannel: true),
    SCRAMMechanism.candidate(.sha256, bindsChannel: true),
    SCRAMMechanism.candidate(.sha1, bindsChannel: true),
    SCRAMMechanism.candidate(.sha512, bindsChannel: false),
    SCRAMMechanism.candidate(.sha256, bindsChannel: false),
    SCRAMMechanism.candidate(.sha1, bindsChannel: false),
    SingleMessageMechanism.plainCandidate,
    OAuthBearerMechanism.candidate,
    SingleMessageMechanism.xOAuth2Candidate,
    SingleMessageMechanism.externalCandidate,
    SingleMessageMechanism.anonymousCandidate,
  ]

  /// The names that ``choose(offer:credentials:context:policy:)`` can return, strongest first.
  public static var supported: [SASLMechanismName] { candidates.map(\.name) }

  /// The strongest mechanism that both sides have, that fits `credentials` and that `policy` allows.
  ///
  /// Credentials are of one kind: a password (or keys derived from one), a bearer token, a certificate, or none; a
  /// mechanism for another kind is never chosen. A mechanism that reveals a password or token is used only with TLS,
  /// and a password is never revealed to a server that offers SCRAM.
  ///
  /// A `-PLUS` mechanism is chosen where server and TLS have a channel binding in common. The offer must be that of the
  /// SASL profile in use, because XEP-0474 compares it.
  ///
  /// Throws `mechanismUnavailable` (nothing in common), `plainRefused` (the password or token would be revealed),
  /// `keysOutdated` (a password would do, but the keys do not), `downgrade` (the offer is weaker than
  /// ``SASLPolicy/pinned``), or the error in the credentials (`invalidPassword`, `invalidToken`, `invalidUserName`).
  public static func choose(
    offer: SASLOffer, credentials: SASLCredentials, context: SASLContext, policy: SASLPolicy = SASLPolicy()
  ) throws(SASLError) -> any SASLMechanism {
    let kind = credentials.kind
    let offered = Set(offer.mechanisms)
    let bindsChannel = SCRAMChannelBinding.common(offer, context) != nil
    let common = candidates.filter {
      $0.kind == kind && offered.contains($0.name) && (bindsChannel || !$0.name.bindsChannel)
    }
    if kind == .password, let pinned = policy.pinned {
      try refuseDowngrade(from: pinned, to: common.first?.name, offer, context)
    }
    var refusal: SASLError?
    for candidate in common where policy.allows(candidate.name) && candidate.accepts(credentials) {
      guard let reason = candidate.reasonToRefuse(offer, context) else {
        return try candidate.make(credentials, offer, context)
      }
      refusal = reason
    }
    if let refusal { throw refusal }
    if credentials.hasKeysOnly, common.contains(where: { policy.allows($0.name) }) {
      throw SASLError(
        .keysOutdated, "the stored keys do not match the mechanisms of the server: the password is needed",
        .keysUnusable)
    }
    throw unavailable(kind, offer, context)
  }

  /// The mechanism for ``SASLCredentials/fastToken``; nil without a token, where the server does not accept it, or
  /// where TLS lacks its channel binding.
  ///
  /// - Parameter offered: the server's mechanisms for tokens (XEP-0484 §3.1).
  public static func fast(
    offered: [SASLMechanismName], credentials: SASLCredentials, context: SASLContext
  ) -> (any SASLMechanism)? {
    guard let token = credentials.fastToken, offered.contains(token.mechanism) else { return nil }
    return try? HTMechanism(authcid: credentials.authcid, token: token, context: context)
  }

  /// The mechanism for a new token: the best offered one that this TLS connection can be bound to.
  ///
  /// - Parameters:
  ///   - offered: the server's mechanisms for tokens (XEP-0484 §3.1). Some servers list all there are.
  ///   - channelBindings: the server's channel bindings (XEP-0440), nil where it does not tell.
  public static func tokenMechanism(
    offered: [SASLMechanismName], channelBindings: [ChannelBindingType]? = nil, context: SASLContext
  ) -> SASLMechanismName? {
    HTMechanism.bindings.first { name, type in
      let isKnown = type.map { channelBindings?.contains($0) ?? true } ?? true
      return isKnown && offered.contains(name) && HTMechanism.bindingData(for: name, context) != nil
    }?.name
  }

  /// Only mechanisms for passwords are pinned; any other name has no effect.
  private static func refuseDowngrade(
    from pinned: SASLMechanismName, to strongest: SASLMechanismName?, _ offer: SASLOffer,
    _ context: SASLContext
  ) throws(SASLError) {
    let order = candidates.filter { $0.kind == .password }.map(\.name)
    guard let rank = order.firstIndex(of: pinned) else { return }
    let best = strongest.flatMap(order.firstIndex(of:)) ?? order.endIndex
    guard best > rank else { return }
    if pinned.bindsChannel, offer.mechanisms.contains(where: \.bindsChannel),
      SCRAMChannelBinding.common(offer, context) == nil
    {
      throw SASLError(
        .downgrade,
        "downgrade: this server supported \(pinned) before, but now it cannot be used: "
          + SCRAMChannelBinding.lack(offer, context))
    }
    guard let strongest else { return }
    throw SASLError(
      .downgrade,
      "downgrade: this server supported \(pinned) before, but now offers at most \(strongest): \(list(offer.mechanisms))",
      .weaker, "\(pinned)", "\(strongest)", list(offer.mechanisms)
    )
  }

  private static func unavailable(
    _ kind: SASLCredentials.Kind, _ offer: SASLOffer, _ context: SASLContext
  ) -> SASLError {
    var text = "no usable mechanism for \(kind.rawValue): the server offers \(list(offer.mechanisms))"
    if kind == .password, offer.mechanisms.contains(where: \.bindsChannel),
      SCRAMChannelBinding.common(offer, context) == nil
    {
      text += "; \(SCRAMChannelBinding.lack(offer, context))"
      return SASLError(.mechanismUnavailable, text)
    }
    let sentence: SASLError.Sentence =
      switch kind {
      case .password: .noUsableForPassword
      case .bearerToken: .noUsableForToken
      case .certificate: .noUsableForCertificate
      case .anonymous: .noUsableForAnonymous
      }
    return SASLError(.mechanismUnavailable, text, sentence, list(offer.mechanisms))
  }
}

/// The restrictions of the choice by the user and earlier logins.
public struct SASLPolicy: Sendable, Hashable {
  /// The mechanisms that may be used; nil for all.
  public var allowed: Set<SASLMechanismName>?
  /// The mechanism with which this server has verified a password before: it must still offer that or a stronger one.
  /// Mechanisms without a password are not compared.
  public var pinned: SASLMechanismName?

  public init(allowed: Set<SASLMechanismName>? = nil, pinned: SASLMechanismName? = nil) {
    self.allowed = allowed
    self.pinned = pinned
  }

  func allows(_ name: SASLMechanismName) -> Bool { allowed?.contains(name) ?? true }
}

/// An entry in the list of mechanisms.
struct SASLCandidate: Sendable {
  /// What the server learns from the authentication.
  enum Exposure: Sendable {
    /// Nothing that it could use elsewhere.
    case nothing
    /// The certificate shown to TLS, which is therefore required.
    case identity
    case token
    case password
  }

  let name: SASLMechanismName
  let kind: SASLCredentials.Kind
  let shows: Exposure
  /// Whether these credentials contain what this mechanism needs.
  var accepts: @Sendable (SASLCredentials) -> Bool = { _ in true }
  let make: @Sendable (SASLCredentials, SASLOffer, SASLContext) throws(SASLError) -> any SASLMechanism

  func reasonToRefuse(_ offer: SASLOffer, _ context: SASLContext) -> SASLError? {
    switch shows {
    case .nothing: nil
    case .identity:
      context.isEncrypted
        ? nil
        : SASLError(
          .mechanismUnavailable, "\(name) needs the certificate of the TLS connection, but there is no TLS",
          .needsCertificate, "\(name)")
    case .token:
      context.isEncrypted
        ? nil
        : SASLError(
          .plainRefused, "\(name) would send the token without TLS", .tokenWithoutTLS, "\(name)")
    case .password where !context.isEncrypted:
      SASLError(
        .plainRefused, "\(name) would send the password without TLS", .passwordWithoutTLS, "\(name)")
    case .password:
      offer.mechanisms.contains(where: \.isSCRAM)
        ? SASLError(
          .plainRefused,
          "\(name) would reveal the password to a server that supports SCRAM: \(list(offer.mechanisms))",
          .passwordBesideSCRAM, "\(name)", list(offer.mechanisms)) : nil
    }
  }
}
