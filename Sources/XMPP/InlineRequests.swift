import XMPPSASL
import XMPPStanza
import XMPPXML

// The requests inside a SASL2 authentication, and their results in its success (XEP-0388 §2.3).

extension StreamNegotiator {
  func inlineRequests(
    for choice: inout Authentication, _ offer: AuthenticationOffer.SASL2,
    _ channelBindings: [ChannelBindingType]?
  ) -> [XMLElement] {
    var requests: [XMLElement] = []
    if let agent = configuration.userAgent { requests.append(agent.element) }
    if offer.resumes == true, let request = resumption?.resumption, isToBind {
      choice.asksResumption = true
      requests.append(request)
    }
    // A particular resource cannot be bound inline, where the server makes a resource from the tag.
    if let features = offer.bindFeatures, configuration.bindsInline, configuration.resource == nil,
      isToBind
    {
      choice.asksBinding = true
      requests.append(
        InlineBind.request(
          tag: configuration.userAgent?.software, features: features,
          managesStream: configuration.managesStream, enablesCarbons: configuration.enablesCarbons))
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
}

/// A bind request together with the authentication (XEP-0386).
enum InlineBind {
  /// - Parameters:
  ///   - tag: the part of the resource that the client chooses; visible to others.
  ///   - features: the features that the server can enable together with it.
  ///   - managesStream: whether to enable stream management.
  ///   - enablesCarbons: whether to enable copies of messages of other devices.
  static func request(
    tag: String?, features: [String], managesStream: Bool, enablesCarbons: Bool
  ) -> XMLElement {
    var children: [XMLElement] = []
    if let tag { children.append(XMLElement("tag", namespace: Namespaces.bind2, text: tag)) }
    for feature in features {
      switch feature {
      case Namespaces.carbons:
        if enablesCarbons { children.append(XMLElement("enable", namespace: Namespaces.carbons)) }
      case Namespaces.streamManagement:
        if managesStream { children.append(StreamManagement.request) }
      case Namespaces.clientState: children.append(XMLElement("active", namespace: Namespaces.clientState))
      default: break
      }
    }
    return XMLElement("bind", namespace: Namespaces.bind2, children: children)
  }
}

extension FASTToken {
  /// The token in a `<success/>`; nil where there is none or it is malformed (XEP-0484 §3.3).
  init?(_ success: XMLElement, mechanism: SASLMechanismName) {
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
