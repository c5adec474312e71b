/// Cuts a stream of bytes into lines: JSON texts that end with a line feed.
///
/// Pure. Append what was read, then take lines with ``next()`` until it gives `nil`. Memory is bounded by
/// ``maximumLine`` and the size of the last chunk.
public struct LineFramer: Sendable {
  /// Octets a line may have, its line feed not counted.
  public static let maximumLine = 1 << 20

  /// What ends the conversation with this peer.
  public enum Violation: Error, Sendable, Equatable {
    case tooLong
    case invalidUTF8
  }

  private let limit: Int
  private var buffer: [UInt8] = []
  /// Where the unfinished line starts.
  private var start = 0
  /// Up to where no line feed was found.
  private var scanned = 0
  private var violation: Violation?

  public init(limit: Int = maximumLine) { self.limit = limit }

  /// Octets kept for a line that is not complete yet.
  public var pending: Int { buffer.count - start }

  public mutating func append(_ bytes: some Sequence<UInt8>) {
    guard violation == nil else { return }
    buffer.append(contentsOf: bytes)
  }

  /// The next complete line without its line feed; empty lines are left out. After a violation only that.
  public mutating func next() throws(Violation) -> String? {
    if let violation { throw violation }
    while let end = buffer[scanned...].firstIndex(of: 0x0A) {
      let line = buffer[start..<end]
      start = end + 1
      scanned = start
      if line.isEmpty || line.elementsEqual([0x0D]) { continue }
      if line.count > limit { throw fail(.tooLong) }
      guard let text = String(validating: line, as: UTF8.self) else { throw fail(.invalidUTF8) }
      return text
    }
    buffer.removeSubrange(..<start)
    start = 0
    scanned = buffer.count
    if buffer.count > limit { throw fail(.tooLong) }
    return nil
  }

  private mutating func fail(_ violation: Violation) -> Violation {
    self.violation = violation
    buffer = []
    start = 0
    scanned = 0
    return violation
  }
}
