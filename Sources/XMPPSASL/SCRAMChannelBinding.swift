/// SCRAM's statement about the TLS channel (RFC 5802 §6).
public enum SCRAMChannelBinding: Sendable, Hashable {
  /// The client cannot bind.
  case unsupported
  /// The client could bind, but the server's offer has no channel binding. This reveals an attacker who has removed the
  /// offer.
  case notOffered
  /// Bound to this channel.
  case required(ChannelBindingType, data: [UInt8])

  /// For a `-PLUS` mechanism: the strongest type that both sides have; nil where there is none.
  static func common(_ offer: SASLOffer, _ context: SASLContext) -> Self? {
    for type in ChannelBindingType.supported where offer.binds(to: type) {
      if let data = context.channelBindings[type] { return .required(type, data: data) }
    }
    return nil
  }

  /// For a mechanism without `-PLUS`. `notOffered` is used only where the offer has no mechanism with channel binding:
  /// otherwise the server would know that the statement is wrong, and end the login.
  static func absent(_ offer: SASLOffer, _ context: SASLContext) -> Self {
    let canBind = ChannelBindingType.supported.contains { context.channelBindings[$0] != nil }
    return canBind && !offer.mechanisms.contains(where: \.bindsChannel) ? .notOffered : .unsupported
  }

  /// Whether the statement contradicts the offer.
  func contradicts(_ offer: SASLOffer) -> Bool {
    switch self {
    case .unsupported: false
    case .notOffered: offer.mechanisms.contains(where: \.bindsChannel)
    case .required(let type, _): !offer.binds(to: type)
    }
  }

  /// Explains to the user why ``common(_:_:)`` is nil.
  static func lack(_ offer: SASLOffer, _ context: SASLContext) -> String {
    let ours = ChannelBindingType.supported.filter { context.channelBindings[$0] != nil }
    if ours.isEmpty { return "this TLS connection has nothing to bind to" }
    guard let theirs = offer.channelBindings else {
      return "this TLS connection lacks tls-unique, and the server names nothing else to bind to"
    }
    return "the server binds to \(list(theirs)), this TLS connection to \(list(ours))"
  }

  var isRequired: Bool {
    if case .required = self { true } else { false }
  }

  /// The flag in a GS2 header (RFC 5801 §4).
  var flag: String {
    switch self {
    case .unsupported: "n"
    case .notOffered: "y"
    case .required(let type, _): "p=\(type.rawValue)"
    }
  }

  var data: [UInt8] {
    if case .required(_, let data) = self { data } else { [] }
  }
}

extension SASLOffer {
  /// A server without a list of types (XEP-0440) is assumed to support only the oldest, tls-unique: some servers offer
  /// `-PLUS` with any version of TLS and support no other type.
  fileprivate func binds(to type: ChannelBindingType) -> Bool {
    (channelBindings ?? [.tlsUnique]).contains(type)
  }
}
