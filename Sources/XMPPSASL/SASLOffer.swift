/// What a server offers to authenticate with.
public struct SASLOffer: Sendable, Hashable {
  /// In the server's order (RFC 6120 §6.4.1).
  public var mechanisms: [SASLMechanismName]
  /// What its `-PLUS` mechanisms can bind to (XEP-0440); nil where it does not say.
  public var channelBindings: [ChannelBindingType]?

  public init(mechanisms: [SASLMechanismName], channelBindings: [ChannelBindingType]? = nil) {
    self.mechanisms = mechanisms
    self.channelBindings = channelBindings
  }
}
