import XMPP

/// The state of the messages that were sent over the streams before the current one.
///
/// Pure.
struct EarlierStreams {
  /// Whether it is known which of them the server has.
  private var isSettled = true
  /// Whether that was unknown when the current stream began. Its count then covers the messages of the stream before,
  /// while older messages are still open.
  private var countsOthers = false
  /// The IDs of messages that the resumed session had not counted, until they are sent again.
  private var uncounted: Set<String> = []
  /// The IDs of messages that the resumption of an earlier agent's stream settles.
  var restored: Set<String>?

  /// Called when a stream is bound.
  mutating func begin() {
    countsOthers = !isSettled
    isSettled = false
  }

  /// Called when the messages are sent again.
  mutating func handedOverAgain() { uncounted = [] }

  /// What the current stream tells about the messages of earlier streams.
  ///
  /// - Parameters:
  /// - window: the send window of the stream before.
  /// - resumes: whether the current stream tried to resume the previous session.
  mutating func settlement(_ window: SendWindow, resumes: Bool, _ bound: BoundStream) -> OutboxSettlement {
    let counted = restored ?? window.inFlightIDs
    let unacknowledged = Set(bound.unacknowledged.compactMap(\.id))
    var known = OutboxSettlement()
    if resumes, !countsOthers { known.acknowledged = counted.subtracting(unacknowledged) }
    known.missing = window.readyIDs
    if bound.isResumed { known.uncounted = unacknowledged.union(uncounted) }
    uncounted = known.uncounted
    restored = nil
    isSettled = true
    return known
  }
}
