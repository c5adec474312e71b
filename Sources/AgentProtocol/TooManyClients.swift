// The agent has reached its maximum number of connections, or of clients that it serves at once. In the first case, its
// only line is an error with the id null.

extension Failure {
  /// - Parameter maximum: The maximum number of clients.
  public static func tooManyClients(_ maximum: Int) -> Failure {
    Failure(.agentUnreachable, stage: .request, detail: .agent(.crowded, maximum))
  }

  /// Whether the failure disappears as soon as other clients disconnect.
  public var isTooManyClients: Bool {
    name == .agentUnreachable && detail?.mentions([.agent(.crowded)]) == true
  }
}
