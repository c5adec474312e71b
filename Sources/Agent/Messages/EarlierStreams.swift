import XMPP

/// What is known of the messages that were handed to the streams before the present one.
///
/// Pure.
struct EarlierStreams {
  /// It is known what the server has of them.
  private var isSettled = true
  /// That was not known when the present stream began: it counts what the one before has had, and what is in flight is older.
  private var countsOthers = false
  /// Those that a resumed session had not counted, until they are handed over again.
  private var uncounted: Set<String> = []
  /// Ids that a resumption of an earlier agent's stream tells about.
  var restored: Set<String>?

  /// A stream is bound.
  mutating func begin() {
    countsOthers = !isSettled
    isSettled = false
  }

  /// Messages are handed over again.
  mutating func handedOverAgain() { uncounted = [] }

  /// What the present stream tells of them.
  ///
  /// - Parameters:
  ///   - window: what was in flight on the stream before, and what was next.
  ///   - resumes: the present stream was to resume the session before.
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
