import XMPPSASL
import XMPPStanza
import XMPPXML

// SASL, under the profile the server has (RFC 6120 §6, XEP-0388), with a password, a token, or what else there is.

extension StreamNegotiator {
  /// An authentication under way.
  struct Authentication: Sendable {
    var profile: SASLProfile
    var mechanism: any SASLMechanism
    /// With the server's own token (XEP-0484).
    var isToken = false
    /// The mechanism that a new token was asked for.
    var requestedToken: SASLMechanismName?
    var isDeriving = false
    /// It went out before the server's offer came.
    var isAnticipated = false
  }

  private var isInvalidating: Bool { configuration.purpose == .tokenInvalidation }

  /// The request that the last offer of this server makes likely; nil where the real one is to be waited for.
  ///
  /// What shows a secret is never sent on a guess.
  mutating func anticipate(_ offer: AuthenticationOffer) -> Output? {
    guard var choice = try? choose(offer), !choice.mechanism.name.showsSecret else { return nil }
    choice.isAnticipated = true
    return try? request(choice, offer)
  }

  /// The server's offer has come: chooses, or holds it against what was chosen by the last one.
  mutating func authenticate(_ offer: AuthenticationOffer) throws(XMPPError) -> [Action] {
    if var authentication, authentication.isAnticipated {
      let offer = offer.limited(to: authentication.profile)
      try check(authentication, offer)
      authentication.mechanism.offered(offer.sasl)
      self.authentication = authentication
      return [.step(.logining(authentication.mechanism.name))]
    }
    let choice = try choose(offer)
    let request = try request(choice, offer)
    return [.step(.logining(choice.mechanism.name)), write([request])]
  }

  private func choose(_ offer: AuthenticationOffer) throws(XMPPError) -> Authentication {
    let context = saslContext
    let credentials = configuration.credentials
    if let extensible = offer.extensible, !isTokenRefused,
      let mechanism = SASLMechanismChoice.fast(
        offered: extensible.tokenMechanisms, credentials: credentials, context: context)
    {
      return Authentication(profile: .extensible, mechanism: mechanism, isToken: true)
    }
    if isInvalidating {
      throw XMPPError(
        .mechanismUnavailable, stage: .authenticate, "the server does not take the token any more")
    }
    do {
      let mechanism = try SASLMechanismChoice.choose(
        offer: offer.sasl, credentials: credentials, context: context, policy: configuration.policy)
      return Authentication(profile: offer.extensible == nil ? .core : .extensible, mechanism: mechanism)
    } catch {
      throw XMPPError(saslError: error)
    }
  }

  private mutating func request(
    _ choice: Authentication, _ offer: AuthenticationOffer
  ) throws(XMPPError) -> Output {
    var choice = choice
    do {
      let response = try choice.mechanism.initialResponse()
      let inline = offer.extensible.map { inlineRequests(for: &choice, $0, offer.channelBindings) } ?? []
      authentication = choice
      owed.append(.authentication)
      return .element(
        choice.profile.request(choice.mechanism.name, initialResponse: response, inline: inline))
    } catch {
      throw XMPPError(saslError: error)
    }
  }

  /// The offer that an anticipated request went by has to be the true one, as far as the request needs it.
  private func check(_ authentication: Authentication, _ offer: AuthenticationOffer) throws(XMPPError) {
    let name = authentication.mechanism.name
    let offered: [SASLMechanismName]? =
      switch authentication.profile {
      case .core: offer.mechanisms
      case .extensible where authentication.isToken: offer.extensible?.tokenMechanisms
      case .extensible: offer.extensible?.mechanisms
      }
    guard offered?.contains(name) == true else {
      throw XMPPError(
        .downgrade, stage: .authenticate,
        "the server no longer offers \(name), which it offered before")
    }
  }

  // MARK: What goes with the request (XEP-0388 §2.3)

  private func inlineRequests(
    for choice: inout Authentication, _ offer: AuthenticationOffer.Extensible,
    _ channelBindings: [ChannelBindingType]?
  ) -> [XMLElement] {
    var requests: [XMLElement] = []
    if let agent = configuration.userAgent { requests.append(agent.element) }
    // A wanted resource can only be had the old way: here the server makes one of the tag.
    if let features = offer.bindFeatures, configuration.bindsInline, configuration.resource == nil,
      !isInvalidating
    {
      requests.append(InlineBind.request(tag: configuration.userAgent?.software, features: features))
    }
    if choice.isToken {
      let invalidate = isInvalidating ? "true" : nil
      requests.append(
        XMLElement("fast", namespace: Namespaces.fast, attributes: ["invalidate": invalidate]))
    } else if configuration.requestsToken, configuration.userAgent != nil,
      let mechanism = SASLMechanismChoice.tokenMechanism(
        offered: offer.tokenMechanisms, channelBindings: channelBindings, context: saslContext)
    {
      choice.requestedToken = mechanism
      requests.append(
        XMLElement(
          "request-token", namespace: Namespaces.fast, attributes: ["mechanism": mechanism.rawValue]))
    }
    if let text = configuration.credentials.loginExtension {
      requests.append(XMLElement("login-ext", namespace: Namespaces.loginExtension, text: text))
    }
    return requests
  }

  // MARK: Answers

  mutating func receivedAuthentication(
    _ name: String, _ element: XMLElement
  ) throws(XMPPError) -> [Action] {
    guard var authentication, !authentication.isDeriving else { throw unexpected(element) }
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
    case "continue" where authentication.profile == .extensible:
      let tasks = element.first("tasks")?.elements.prefix(8).map { "\(SASLMechanismName($0.text))" } ?? []
      throw XMPPError(
        .mechanismUnavailable, stage: .authenticate,
        "the server wants another step, which imctl does not know: \(tasks.joined(separator: ", "))",
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
    guard authentication.profile == .extensible else {
      self.login = login
      var flight = openStream()
      if configuration.anticipation.binding { flight.append(requestBinding()) }
      return [.restartParser, write(flight)]
    }
    login.fastToken = FASTToken(
      element, mechanism: authentication.requestedToken ?? authentication.mechanism.name)
    if isInvalidating, let features { return end(with: .ready(features)) }
    if let bound = element.first("bound", Namespaces.bind2) {
      login.jid = try boundJID(element.first("authorization-identifier")?.text)
      login.inline = bound
      return end(with: .bound(login))
    }
    // The features follow without a new stream (XEP-0388 §2.6.1).
    self.login = login
    owed.append(.features)
    return configuration.anticipation.binding ? [write([requestBinding()])] : []
  }

  /// A refused token is no refused password: the same stream takes that one too, where the user wants it so. And
  /// what was wrong about the server's offer, because that has changed since the last login, is said again in the
  /// right way: its refusal tells nothing of the password.
  private mutating func failed(
    _ authentication: Authentication, _ error: XMPPError
  ) throws(XMPPError) -> [Action] {
    if authentication.isAnticipated, authentication.mechanism.contradictsOffer, let features {
      owed.removeFirst()
      self.authentication = nil
      // One profile at a time (XEP-0388 §2.1): some servers refuse the other one now.
      return try authenticate(features.authentication.limited(to: authentication.profile))
    }
    guard authentication.isToken else { throw error.explained(by: authentication.mechanism) }
    var refusal = error
    if error.code == .authFailed, !configuration.fallsBackFromToken { refusal.code = .deviceChanged }
    guard configuration.fallsBackFromToken, !isInvalidating, let features else {
      throw refusal
    }
    isTokenRefused = true
    owed.removeFirst()
    self.authentication = nil
    do {
      return try authenticate(features.authentication)
    } catch {
      // There is nothing else to log in with.
      throw error.code == .mechanismUnavailable ? refusal : error
    }
  }
}

extension AuthenticationOffer {
  /// What a client that has begun with one profile goes by.
  fileprivate func limited(to profile: SASLProfile) -> Self {
    var offer = self
    if profile == .core { offer.extensible = nil }
    return offer
  }
}

extension FASTToken {
  /// The token in a `<success/>`; nil without one, and for what no server would send (XEP-0484 §3.3).
  fileprivate init?(_ success: XMLElement, mechanism: SASLMechanismName) {
    guard let token = success.first("token", Namespaces.fast), let secret = token["token"],
      (1...4096).contains(secret.utf8.count)
    else { return nil }
    self.init(
      mechanism: mechanism, secret: Secret(secret), expiry: token["expiry"].map { String($0.prefix(64)) })
  }
}

extension UserAgent {
  fileprivate var element: XMLElement {
    let children = [("software", software), ("device", device)].compactMap { name, text in
      text.map { XMLElement(name, namespace: Namespaces.sasl2, text: $0) }
    }
    return XMLElement(
      "user-agent", namespace: Namespaces.sasl2, attributes: ["id": id], children: children)
  }
}
