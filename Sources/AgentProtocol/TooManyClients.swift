// The agent has as many clients as it may have: of those that it does something for, or of connections at all. Then its
// first and last line is an error with the id null.

extension Failure {
  /// - Parameter maximum: how many there may be.
  public static func tooManyClients(_ maximum: Int) -> Failure {
    Failure(.agentUnreachable, stage: .request, detail: .agent(.crowded, maximum))
  }

  /// Whether it is over as soon as some of the others have gone.
  public var isTooManyClients: Bool {
    name == .agentUnreachable && detail?.mentions([.agent(.crowded)]) == true
  }
}
