import AgentStore

/// Decides what happens to the messages that were sent over an earlier stream.
///
/// Pure. The server's stanza count (XEP-0198) tells which messages it has; the archive (XEP-0313) tells the rest.
struct OutboxSettlement: Sendable, Equatable {
  /// The IDs of messages that the server has.
  var acknowledged: Set<String> = []
  /// The IDs of messages that the server certainly does not have.
  var missing: Set<String> = []
  /// The IDs of messages that the server has not counted, although it may still have been processing them.
  var uncounted: Set<String> = []

  /// The messages of `open` that may or may not have arrived.
  func doubtful(_ open: [OutboxMessage]) -> [OutboxMessage] {
    open.filter { !acknowledged.contains($0.id) && !missing.contains($0.id) }
  }

  /// The messages to send again, in their order; `left` are those that were not found in the archive.
  func toSendAgain(_ left: [OutboxMessage]) -> [OutboxMessage] {
    left.filter { !acknowledged.contains($0.id) }.map { message in
      var message = message
      message.isAgain = true
      return message
    }
  }
}
