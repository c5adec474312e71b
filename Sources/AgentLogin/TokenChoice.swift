import AgentStore

/// Which token and which login extension one attempt carries: pure.
///
/// What a command answers beats what was given beforehand. Where it answers with nothing, what was given takes its
/// place: the attempt is made, told as a fallback, and not counted, since the next one asks again.
package struct TokenChoice: Sendable, Equatable {
  /// What a command of the user has answered.
  package enum Answer<Value: Sendable & Equatable>: Sendable, Equatable {
    /// There is no command.
    case none
    /// It ended well and gave nothing.
    case empty
    case value(Value)

    package init(_ value: Value?) { self = value.map(Answer.value) ?? .empty }

    package var value: Value? { if case .value(let value) = self { value } else { nil } }
  }

  package var token: IssuedToken?
  package var loginExtension: String?
  package var isFallback: Bool

  /// Nil where there is nothing to log in with: nothing is sent then.
  ///
  /// - Parameters:
  ///   - given: the token given beforehand.
  ///   - extensionSuffices: whoever checks the login may do so by the extension alone.
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
