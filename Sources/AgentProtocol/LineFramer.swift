/// Splits a stream of bytes into lines, which are JSON texts that end with a line feed.
///
/// Does no I/O. Append the bytes that were read, then call ``next()`` until it returns nil. Memory is bounded by
/// ``maximumLine`` and the size of the last chunk.
public struct LineFramer: Sendable {
  /// The maximum length of a line in octets, without its line feed.
  public static let maximumLine = 1 << 20

  /// A violation of the framing, which ends the connection with the peer.
  public enum Violation: Error, Sendable, Equatable {
    case tooLong
    case invalidUTF8
  }

  private let limit: Int
  private var buffer: [UInt8] = []
  /// The index at which the unfinished line begins.
  private var start = 0
  /// The index up to which there is no line feed.
  private var scanned = 0
  private var violation: Violation?

  public init(limit: Int = maximumLine) { self.limit = limit }

  /// The number of octets of the unfinished line.
  public var pending: Int { buffer.count - start }

  public mutating func append(_ bytes: some Sequence<UInt8>) {
    guard violation == nil else { return }
    buffer.append(contentsOf: bytes)
  }

  /// Returns the next complete line that is not empty, without its line feed. After a violation, every call throws it.
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
