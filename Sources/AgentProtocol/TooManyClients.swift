// The agent has as many clients as it may have: of those that it does something for, or of connections at all. Then its
// first and last line is an error with the id null.

extension Failure {
  private static let words = (before: "it has ", behind: " clients, and serves no more at a time")

  /// - Parameter maximum: how many there may be.
  public static func tooManyClients(_ maximum: Int) -> Failure {
    Failure(.agentUnreachable, stage: .request, detail: "\(words.before)\(maximum)\(words.behind)")
  }

  /// Whether it is over as soon as some of the others have gone.
  public var isTooManyClients: Bool {
    guard name == .agentUnreachable, let detail else { return false }
    return detail.hasPrefix(Self.words.before) && detail.hasSuffix(Self.words.behind)
  }
}
