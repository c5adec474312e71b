import XMPPSASL
import XMPPStanza
import XMPPXML

/// The authentication methods that a server offers in its features inside TLS.
///
/// The offer is stable for an account (XEP-0388 §2.1), so that the next login may rely on the last one's.
public struct AuthenticationOffer: Sendable, Hashable, Codable {
  /// The mechanisms of SASL as in RFC 6120 §6.4.1.
  public var mechanisms: [SASLMechanismName]
  /// The channel bindings for `-PLUS` mechanisms (XEP-0440); nil where the server does not tell.
  public var channelBindings: [ChannelBindingType]?
  /// The offer of SASL2 (XEP-0388); nil where the server has only the SASL of RFC 6120.
  public var sasl2: SASL2?

  // Files of earlier versions use this name.
  private enum CodingKeys: String, CodingKey {
    case mechanisms, channelBindings
    case sasl2 = "extensible"
  }

  public struct SASL2: Sendable, Hashable, Codable {
    public var mechanisms: [SASLMechanismName]
    /// The mechanisms for a token of the server (XEP-0484); empty where it issues none.
    public var tokenMechanisms: [SASLMechanismName]
    /// The features that can be enabled with an inline bind (XEP-0386); nil where there is no inline bind.
    public var bindFeatures: [String]?
    /// Whether a session can be resumed together with the authentication (XEP-0198 §9.2).
    public var resumes: Bool?

    public init(
      mechanisms: [SASLMechanismName], tokenMechanisms: [SASLMechanismName] = [],
      bindFeatures: [String]? = nil, resumes: Bool? = nil
    ) {
      self.mechanisms = mechanisms
      self.tokenMechanisms = tokenMechanisms
      self.bindFeatures = bindFeatures
      self.resumes = resumes
    }
  }

  public init(
    mechanisms: [SASLMechanismName], channelBindings: [ChannelBindingType]? = nil,
    sasl2: SASL2? = nil
  ) {
    self.mechanisms = mechanisms
    self.channelBindings = channelBindings
    self.sasl2 = sasl2
  }

  /// The mechanisms to choose from: those of SASL2 where the server has it.
  public var sasl: SASLOffer {
    SASLOffer(mechanisms: sasl2?.mechanisms ?? mechanisms, channelBindings: channelBindings)
  }
}

extension AuthenticationOffer {
  /// The profiles of the server, the better one first.
  var profiles: [SASLProfile] { sasl2 == nil ? [.core] : [.sasl2, .core] }

  /// The offer of one profile.
  func sasl(_ profile: SASLProfile) -> SASLOffer {
    let mechanisms = profile == .core ? mechanisms : sasl2?.mechanisms ?? []
    return SASLOffer(mechanisms: mechanisms, channelBindings: channelBindings)
  }

  /// The offer for a client that has begun with one profile.
  func limited(to profile: SASLProfile) -> Self {
    var offer = self
    if profile == .core { offer.sasl2 = nil }
    return offer
  }

  func contains(_ authentication: StreamNegotiator.Authentication) -> Bool {
    let mechanisms =
      authentication.isToken
      ? sasl2?.tokenMechanisms ?? [] : sasl(authentication.profile).mechanisms
    return mechanisms.contains(authentication.mechanism.name)
  }
}

extension StreamFeatures {
  public var authentication: AuthenticationOffer {
    AuthenticationOffer(
      mechanisms: mechanisms, channelBindings: channelBindings, sasl2: sasl2Offer)
  }

  /// SASL mechanisms in the server's order (RFC 6120 §6.4.1).
  public var mechanisms: [SASLMechanismName] {
    Self.mechanisms(in: element.first("mechanisms", Namespaces.sasl))
  }

  /// Channel bindings in the server's order (XEP-0440).
  private var channelBindings: [ChannelBindingType]? {
    element.first("sasl-channel-binding", Namespaces.channelBinding).map { list in
      list.elements.lazy.filter { $0.name.local == "channel-binding" }.compactMap { $0["type"] }
        .filter { $0.utf8.count <= 64 }.map(ChannelBindingType.init)
    }
  }

  private var sasl2Offer: AuthenticationOffer.SASL2? {
    guard let authentication = element.first("authentication", Namespaces.sasl2) else { return nil }
    let inline = authentication.first("inline", Namespaces.sasl2)
    return AuthenticationOffer.SASL2(
      mechanisms: Self.mechanisms(in: authentication),
      tokenMechanisms: Self.mechanisms(in: inline?.first("fast", Namespaces.fast)),
      bindFeatures: inline?.first("bind", Namespaces.bind2).map { bind in
        (bind.first("inline", Namespaces.bind2)?.elements ?? []).lazy.filter { $0.name.local == "feature" }
          .compactMap { $0["var"] }.filter { $0.utf8.count <= 128 }
      },
      resumes: inline?.first("sm", Namespaces.streamManagement).map { _ in true })
  }

  /// All names of the list's namespace: the mechanism that both sides have may be the last, and the server may sign the
  /// list (XEP-0474). ``StreamConfiguration/limits`` bounds the length.
  private static func mechanisms(in list: XMLElement?) -> [SASLMechanismName] {
    guard let list else { return [] }
    return list.elements.lazy
      .filter { $0.name.local == "mechanism" && $0.name.namespace == list.name.namespace }
      .map { SASLMechanismName(rawValue: $0.text) }
  }
}
