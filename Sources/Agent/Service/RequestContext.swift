import AgentProtocol

/// Which client a request has come from, and what a method can do with the client's connection.
package struct RequestContext: Sendable {
  let client: ClientHandle
  let places: Places
  /// Starts the notifications `event` on the connection, from a cursor on where one is named. Returns the newest cursor;
  /// the first notification follows the answer.
  let subscribe: @Sendable (EventHub.Filter, _ since: Int64?) -> Int64
  /// Counts the clients that are connected, this one included.
  let clients: @Sendable () -> Int
}
