import XMPPSASL
import XMPPStanza
import XMPPXML

// SASL in the profile of the server (RFC 6120 §6, XEP-0388), with a password, a token or another credential.

extension StreamNegotiator {
  /// An authentication in progress.
  struct Authentication: Sendable {
    var profile: SASLProfile
    var mechanism: any SASLMechanism
    /// Whether it uses the server's own token (XEP-0484).
    var isToken = false
    /// The mechanism for which a new token was requested.
    var requestedToken: SASLMechanismName?
    var isDeriving = false
    /// Whether it was sent before the server's offer arrived.
    var isPipelined = false
    /// Whether the server's offer contains the mechanism, which may not be so after pipelining.
    var isOffered = true
    /// Whether an inline bind was requested.
    var asksBinding = false
    /// Whether an inline resumption was requested.
    var asksResumption = false
  }

  var isInvalidating: Bool { configuration.purpose == .tokenInvalidation }

  /// Whether a resource is to be bound, not only the credentials checked.
  var isToBind: Bool { configuration.purpose == .login }

  /// The request that matches the last offer of this server; nil where the real offer has to be waited for.
  ///
  /// A request that reveals a secret is never pipelined.
  mutating func pipeline(_ offer: AuthenticationOffer) -> Output? {
    guard var choice = try? choose(offer), !choice.mechanism.name.showsSecret else { return nil }
    if choice.profile == .sasl2, configuration.credentials.loginExtension != nil { return nil }
    choice.isPipelined = true
    return try? request(choice, offer)
  }

  /// Handles the server's offer: chooses a mechanism, or checks the pipelined choice.
  mutating func authenticate(_ offer: AuthenticationOffer) throws(XMPPError) -> [Action] {
    guard var authentication, authentication.isPipelined else {
      let choice = try choose(offer)
      let request = try request(choice, offer)
      return [.step(.logining(choice.mechanism.name)), write([request])]
    }
    let offer = offer.limited(to: authentication.profile)
    // If no mechanism is left, the login fails without waiting for the server's answer.
    _ = try choose(offer)
    authentication.mechanism.offered(offer.sasl(authentication.profile))
    authentication.isOffered = offer.contains(authentication)
    self.authentication = authentication
    return [.step(.logining(authentication.mechanism.name))]
  }

  private func choose(_ offer: AuthenticationOffer) throws(XMPPError) -> Authentication {
    var credentials = configuration.credentials
    if let sasl2 = offer.sasl2, !isTokenRefused {
      // The token belongs to the account, whatever the name for the password is.
      var owner = credentials
      owner.authcid = configuration.jid.local ?? credentials.authcid
      let mechanism = SASLMechanismChoice.fast(
        offered: sasl2.tokenMechanisms, credentials: owner, context: saslContext)
      if let mechanism {
        return Authentication(profile: .sasl2, mechanism: mechanism, isToken: true)
      }
      if isInvalidating, let token = credentials.fastToken,
        sasl2.tokenMechanisms.contains(token.mechanism)
      {
        throw XMPPError(
          .mechanismUnavailable, stage: .authenticate,
          .says(.unusableMechanism, token.mechanism))
      }
    }
    if isInvalidating {
      throw XMPPError(.authFailed, stage: .authenticate, .says(.tokenNotTaken))
    }
    credentials.fastToken = nil
    var unavailable: SASLError?
    for profile in offer.profiles {
      do {
        let mechanism = try SASLMechanismChoice.choose(
          offer: offer.sasl(profile), credentials: credentials, context: saslContext,
          policy: policy(for: profile, offer))
        return Authentication(profile: profile, mechanism: mechanism)
      } catch  where error.code == .mechanismUnavailable {
        unavailable = unavailable ?? error
      } catch {
        throw XMPPError(saslError: error)
      }
    }
    throw XMPPError(
      saslError: unavailable
        ?? SASLError(.mechanismUnavailable, "the server offers no mechanism", .noneOffered))
  }

  /// If the server offers SCRAM in one profile, the password is not revealed in either.
  private func policy(for profile: SASLProfile, _ offer: AuthenticationOffer) -> SASLPolicy {
    var policy = configuration.policy
    let hasSCRAM = offer.sasl(profile).mechanisms.contains(where: \.isSCRAM)
    if !hasSCRAM, offer.profiles.contains(where: { offer.sasl($0).mechanisms.contains(where: \.isSCRAM) }) {
      policy.allowed = (policy.allowed ?? Set(SASLMechanismChoice.supported)).subtracting([.plain])
    }
    return policy
  }

  private mutating func request(
    _ choice: Authentication, _ offer: AuthenticationOffer
  ) throws(XMPPError) -> Output {
    var choice = choice
    do {
      let response = try choice.mechanism.initialResponse()
      var inline: [XMLElement] = []
      if choice.profile == .sasl2, let sasl2 = offer.sasl2 {
        inline = inlineRequests(for: &choice, sasl2, offer.channelBindings)
      }
      authentication = choice
      owed.append(.authentication)
      return .element(
        choice.profile.request(choice.mechanism.name, initialResponse: response, inline: inline))
    } catch {
      throw XMPPError(saslError: error)
    }
  }

  // MARK: Server responses

  mutating func receivedAuthentication(
    _ name: String, _ element: XMLElement
  ) throws(XMPPError) -> [Action] {
    guard var authentication, !authentication.isDeriving else { throw unexpected(element) }
    if !authentication.isOffered, name != "failure" {
      throw XMPPError(
        .downgrade, stage: .authenticate,
        .says(.mechanismWithdrawn, authentication.mechanism.name))
    }
    switch name {
    case "challenge":
      defer { self.authentication = authentication }
      let profile = authentication.profile
      return try perform(&authentication) { (mechanism) throws(SASLError) in
        try mechanism.challenge(try profile.data(of: element) ?? [])
      }
    case "success":
      do {
        try authentication.mechanism.success(try authentication.profile.data(of: element))
      } catch {
        throw XMPPError(saslError: error)
      }
      owed.removeFirst()
      return try succeeded(authentication, element)
    case "failure": return try failed(authentication, XMPPError(saslFailure: element))
    case "continue" where authentication.profile == .sasl2:
      let tasks = element.first("tasks")?.elements.prefix(8).map { "\(SASLMechanismName($0.text))" } ?? []
      throw XMPPError(
        .mechanismUnavailable, stage: .authenticate,
        .says(.anotherStep, tasks.joined(separator: ", ")),
        text: element.first("text")?.text)
    default: throw unexpected(element)
    }
  }

  mutating func derived(_ result: Result<SCRAMKeys, SASLError>) throws(XMPPError) -> [Action] {
    guard var authentication, authentication.isDeriving else { return [] }
    authentication.isDeriving = false
    defer { self.authentication = authentication }
    return try perform(&authentication) { (mechanism) throws(SASLError) in
      try mechanism.derived(try result.get())
    }
  }

  private mutating func perform(
    _ authentication: inout Authentication,
    _ step: (inout any SASLMechanism) throws(SASLError) -> SASLStep
  ) throws(XMPPError) -> [Action] {
    do {
      switch try step(&authentication.mechanism) {
      case .respond(let bytes): return [write([.element(authentication.profile.response(bytes))])]
      case .derive(let request):
        authentication.isDeriving = true
        return [.derive(request)]
      }
    } catch {
      throw XMPPError(saslError: error)
    }
  }

  private mutating func succeeded(
    _ authentication: Authentication, _ element: XMLElement
  ) throws(XMPPError) -> [Action] {
    let features = features
    becomeAuthenticated()
    var login = Login(
      mechanism: authentication.mechanism.name, isTokenRefused: isTokenRefused,
      scramKeys: authentication.mechanism.scramKeys)
    if configuration.purpose == .authentication, let features { return end(with: .ready(features)) }
    guard authentication.profile == .sasl2 else {
      self.login = login
      var flight = openStream()
      if configuration.pipelining.binding { flight.append(requestSession()) }
      return [.restartParser, write(flight)]
    }
    login.usesSASL2 = true
    // An unrequested token is for the mechanism that was used (XEP-0484 §3.5).
    let mechanism =
      authentication.requestedToken ?? (authentication.isToken ? authentication.mechanism.name : nil)
    login.fastToken = mechanism.flatMap { FASTToken(element, mechanism: $0) }
    if isInvalidating, let features { return end(with: .ready(features)) }
    if authentication.asksResumption {
      resumption = nil
      self.login = login
      if let resumed = element.first("resumed", Namespaces.streamManagement) {
        if let name = element.first("authorization-identifier")?.text { try checkOwner(name) }
        return try self.resumed(resumed)
      }
      login.resumption = element.first("failed", Namespaces.streamManagement).map { .refused($0) }
    }
    if let bound = element.first("bound", Namespaces.bind2) {
      guard authentication.asksBinding else { throw unexpected(bound) }
      login.jid = try boundJID(element.first("authorization-identifier")?.text)
      login.inline = bound
      return end(with: .bound(login))
    }
    // The features follow without a stream restart (XEP-0388 §2.6.1).
    self.login = login
    owed.append(.features)
    return configuration.pipelining.binding ? [write([requestSession()])] : []
  }

  /// After a refused token, the same stream tries the password if the configuration permits it. A pipelined request
  /// that does not fit the server's current offer is repeated in the right form: its refusal tells nothing about the
  /// password.
  private mutating func failed(
    _ authentication: Authentication, _ error: XMPPError
  ) throws(XMPPError) -> [Action] {
    if let features, !authentication.isOffered || authentication.mechanism.contradictsOffer {
      owed.removeFirst()
      self.authentication = nil
      // The profile must not change (XEP-0388 §2.1): some servers refuse the other one now.
      return try authenticate(features.authentication.limited(to: authentication.profile))
    }
    guard authentication.isToken else { throw error.explained(by: authentication.mechanism) }
    var refusal = error
    if error.code == .authFailed, !configuration.fallsBackFromToken { refusal.code = .deviceChanged }
    let mayHelp = [.authFailed, .tokenExpired, .mechanismUnavailable].contains(error.code)
    guard mayHelp, configuration.fallsBackFromToken, !isInvalidating, let features else { throw refusal }
    isTokenRefused = true
    owed.removeFirst()
    self.authentication = nil
    do {
      return try authenticate(features.authentication)
    } catch {
      // No other credential is left.
      throw error.code == .mechanismUnavailable ? refusal : error
    }
  }
}
