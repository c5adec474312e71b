/// One connection to the agent's socket.
package struct ClientHandle: Sendable, Hashable {
  /// Unique while the agent runs.
  package let id: UInt64
  package init(id: UInt64) { self.id = id }
}
