import AgentProtocol

/// The synchronisation of a new session: the open parts, and the number of items of each.
///
/// Does no I/O.
struct Synchronisation: Sendable, Equatable {
  /// The parts that are not in the store yet.
  private(set) var open: Set<SyncPart>
  /// The number of items of each part. Parts that the server lacks are missing.
  private(set) var counts: [SyncPart: Int] = [:]
  /// Grows with everything that arrives, so that a server that is still sending is not given up.
  private(set) var progress = 0

  init(_ parts: some Sequence<SyncPart>) { open = Set(parts) }

  var isOver: Bool { open.isEmpty }

  /// The open parts in a constant order.
  var missing: [SyncPart] { SyncPart.allCases.filter(open.contains) }

  /// Counts further items in the store.
  mutating func add(_ items: [SyncPart: Int]) {
    progress += 1
    for (part, count) in items where open.contains(part) { counts[part, default: 0] += count }
  }

  /// A part is in the store.
  ///
  /// - Parameter count: The number of its items, if ``add(_:)`` has not counted them; nil if the server lacks the part.
  /// - Returns: Whether the part was open before.
  mutating func end(_ part: SyncPart, _ count: Int?) -> Bool {
    guard open.remove(part) != nil else { return false }
    progress += 1
    if let count { counts[part] = count }
    return true
  }
}
