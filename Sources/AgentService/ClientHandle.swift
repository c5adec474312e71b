/// One connection to the agent's socket.
struct ClientHandle: Sendable, Hashable {
  /// Unique while the agent runs.
  let id: UInt64
}
