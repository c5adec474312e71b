import AgentProtocol

/// What a new session brings into step with its server: which parts are still on their way, and how much came of each.
///
/// Pure.
struct Synchronisation: Sendable, Equatable {
  /// Parts that are not in the store yet.
  private(set) var open: Set<SyncPart>
  /// How many items there are of a part. What the server lacks is not among them.
  private(set) var counts: [SyncPart: Int] = [:]
  /// Grows with everything that comes: a server that is still sending is not given up.
  private(set) var progress = 0

  init(_ parts: some Sequence<SyncPart>) { open = Set(parts) }

  var isOver: Bool { open.isEmpty }

  /// The parts that are missing, in the order in which they are always told.
  var missing: [SyncPart] { SyncPart.allCases.filter(open.contains) }

  /// So many more items of some parts are in the store.
  mutating func add(_ items: [SyncPart: Int]) {
    progress += 1
    for (part, count) in items where open.contains(part) { counts[part, default: 0] += count }
  }

  /// A part is in the store.
  ///
  /// - Parameter count: how many items it has, where they were not counted by ``add(_:)``; nil where the server lacks it.
  /// - Returns: whether it was on its way until now.
  mutating func end(_ part: SyncPart, _ count: Int?) -> Bool {
    guard open.remove(part) != nil else { return false }
    progress += 1
    if let count { counts[part] = count }
    return true
  }
}
