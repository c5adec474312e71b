import AgentProtocol

/// The client that has sent a request, and the functions that a method can use on its connection.
struct RequestContext: Sendable {
  let client: ClientHandle
  let places: Places
  /// Starts `event` notifications on the connection, from a cursor on where one is given. Returns the newest cursor;
  /// the first notification follows the answer.
  let subscribe: @Sendable (EventHub.Filter, _ since: Int64?) -> Int64
  /// Returns the number of connected clients, this one included.
  let clients: @Sendable () -> Int
}
