import AgentStore

/// What is to become of messages that were handed to an earlier stream.
///
/// Pure. The server tells what it has by counting (XEP-0198); what it does not tell the archive does (XEP-0313).
struct OutboxSettlement: Sendable, Equatable {
  /// Ids of those that the server has.
  var acknowledged: Set<String> = []
  /// Ids of those that it surely has not.
  var missing: Set<String> = []
  /// Ids of those that the server has not counted. It may have been at work on them still.
  var uncounted: Set<String> = []

  /// Those of `open` that may have arrived or not.
  func doubtful(_ open: [OutboxMessage]) -> [OutboxMessage] {
    open.filter { !acknowledged.contains($0.id) && !missing.contains($0.id) }
  }

  /// What has to be sent again, in its order, of what is `left` when the archive was searched for the doubtful ones.
  func toSendAgain(_ left: [OutboxMessage]) -> [OutboxMessage] {
    left.filter { !acknowledged.contains($0.id) }.map { message in
      var message = message
      message.isAgain = true
      return message
    }
  }
}
