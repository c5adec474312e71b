/// Which of the mechanisms that a server offers is used: a pure decision, best first.
public enum SASLMechanismChoice {
  /// Every mechanism of this library, strongest first. A new one is one file and one line here.
  static let candidates: [SASLCandidate] = [
    SCRAMMechanism.candidate(.sha512),
    SCRAMMechanism.candidate(.sha256),
    SCRAMMechanism.candidate(.sha1),
    PlainMechanism.candidate,
  ]

  /// The names that ``choose(offered:credentials:context:policy:)`` can give, strongest first.
  public static var supported: [SASLMechanismName] { candidates.map(\.name) }

  /// The strongest mechanism that both sides have, that `credentials` can serve and that `policy` allows.
  ///
  /// A mechanism that shows the password is used only inside TLS, and never where the server offers any
  /// SCRAM: a server that has SCRAM has no need to see it.
  ///
  /// Throws `mechanismUnavailable` (nothing in common), `plainRefused` (the password would have to be shown),
  /// `downgrade` (all that is offered is weaker than ``SASLPolicy/pinned``), or what is wrong with the
  /// credentials (`invalidPassword`, `invalidUserName`).
  public static func choose(
    offered: [SASLMechanismName],
    credentials: SASLCredentials,
    context: SASLContext,
    policy: SASLPolicy = SASLPolicy()
  ) throws(SASLError) -> any SASLMechanism {
    let common = candidates.filter { offered.contains($0.name) }
    if let pinned = policy.pinned, let strongest = common.first, rankOf(strongest.name) > rankOf(pinned) {
      throw SASLError(
        .downgrade, "downgrade: this server was known to do \(pinned), now it offers \(list(offered))")
    }
    var refusal: SASLError?
    for candidate in common where policy.allows(candidate.name) && candidate.accepts(credentials) {
      if candidate.showsPassword, !context.isEncrypted {
        refusal = SASLError(.plainRefused, "\(candidate.name) would send the password without TLS")
      } else if candidate.showsPassword, offered.contains(where: \.isSCRAM) {
        refusal = SASLError(
          .plainRefused,
          "\(candidate.name) would show the password to a server that has SCRAM: \(list(offered))")
      } else {
        return try candidate.make(credentials, context)
      }
    }
    throw refusal
      ?? SASLError(.mechanismUnavailable, "no usable mechanism: the server offers \(list(offered))")
  }

  /// As ``choose(offered:credentials:context:policy:)``.
  public static func choose(
    offer: SASLOffer, credentials: SASLCredentials, context: SASLContext, policy: SASLPolicy = SASLPolicy()
  ) throws(SASLError) -> any SASLMechanism {
    try choose(offered: offer.mechanisms, credentials: credentials, context: context, policy: policy)
  }

  /// The mechanism for ``SASLCredentials/fastToken``; nil without a token, where the server does not take it, or
  /// where TLS lacks what it is bound to.
  public static func fast(
    offered: [SASLMechanismName], credentials: SASLCredentials, context: SASLContext
  ) -> (any SASLMechanism)? { nil }

  /// The mechanism to ask a token for: the best of those offered that this TLS connection can be bound with.
  public static func tokenMechanism(
    offered: [SASLMechanismName], context: SASLContext
  ) -> SASLMechanismName? { nil }

  /// The place of a name in the order of strength; names that are not ours pin nothing.
  private static func rankOf(_ name: SASLMechanismName) -> Int {
    candidates.firstIndex { $0.name == name } ?? candidates.count
  }

  /// The offer as text of bounded length that is safe to print.
  private static func list(_ names: [SASLMechanismName]) -> String {
    if names.isEmpty { return "none" }
    let shown = names.prefix(16).map(\.description).joined(separator: ", ")
    return names.count > 16 ? "\(shown) and \(names.count - 16) more" : shown
  }
}

/// What the user and earlier logins say about the choice.
public struct SASLPolicy: Sendable, Hashable {
  /// The mechanisms that may be used; nil for all.
  public var allowed: Set<SASLMechanismName>?
  /// What this server was last seen to do: it must still offer that, or something stronger.
  public var pinned: SASLMechanismName?

  public init(allowed: Set<SASLMechanismName>? = nil, pinned: SASLMechanismName? = nil) {
    self.allowed = allowed
    self.pinned = pinned
  }

  func allows(_ name: SASLMechanismName) -> Bool { allowed?.contains(name) ?? true }
}

/// A line of the list that ``SASLMechanismChoice`` chooses from.
struct SASLCandidate: Sendable {
  let name: SASLMechanismName
  /// Whether the server gets to see the password itself.
  let showsPassword: Bool
  /// Whether the credentials hold what this mechanism needs.
  let accepts: @Sendable (SASLCredentials) -> Bool
  let make: @Sendable (SASLCredentials, SASLContext) throws(SASLError) -> any SASLMechanism
}
