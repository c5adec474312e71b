import AgentStore

/// Chooses the token and the login extension of an attempt. Pure.
///
/// The output of a command takes precedence over a given value. Where the command prints nothing, the given value is
/// used: such an attempt is reported as a fallback and not counted, since the next one runs the command again.
package struct TokenChoice: Sendable, Equatable {
  /// The answer of a user's command.
  package enum Answer<Value: Sendable & Equatable>: Sendable, Equatable {
    /// There is no command.
    case none
    /// The command succeeded without output.
    case empty
    case value(Value)

    package init(_ value: Value?) { self = value.map(Answer.value) ?? .empty }

    package var value: Value? { if case .value(let value) = self { value } else { nil } }
  }

  package var token: IssuedToken?
  package var loginExtension: String?
  package var isFallback: Bool

  /// Returns nil where there is no credential, so that nothing is sent.
  ///
  /// - Parameters:
  ///   - given: the token that was given with the login.
  ///   - extensionSuffices: whether a login with the extension alone is possible.
  package init?(
    token answer: Answer<IssuedToken>, given: IssuedToken?, extension extensionAnswer: Answer<String>,
    givenExtension: String?, extensionSuffices: Bool
  ) {
    token = answer.value ?? given
    let dynamicExtension = extensionAnswer.value.flatMap { $0.isEmpty ? nil : $0 }
    loginExtension = dynamicExtension ?? givenExtension.flatMap { $0.isEmpty ? nil : $0 }
    if extensionSuffices {
      guard token != nil || loginExtension != nil else { return nil }
      let nobodyAnswered = answer.value == nil && dynamicExtension == nil
      isFallback = nobodyAnswered && (answer != .none || extensionAnswer != .none)
    } else {
      guard token != nil else { return nil }
      isFallback = answer == .empty
    }
  }
}
