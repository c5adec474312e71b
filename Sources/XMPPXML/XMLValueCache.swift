import CLibXML2

/// Attribute values already made: on a stream the same addresses return all the time, and finding one costs less
/// than making it again.
///
/// Each value has one place, found by a hash of its bytes; one that needs a taken place takes it over. So the
/// cache never grows, and a peer that makes values collide gains nothing. Long values are not kept, and short
/// ones need no memory of their own in Swift.
struct XMLValueCache: ~Copyable {
  private static let bits = 7
  private static let lengths = 16...64

  /// For each place its bytes, and the string made of them.
  private let bytes: UnsafeMutableRawPointer
  private let entries: UnsafeMutablePointer<(count: Int, string: String)>

  init() {
    bytes = .allocate(byteCount: Self.lengths.upperBound << Self.bits, alignment: 8)
    entries = .allocate(capacity: 1 << Self.bits)
    entries.initialize(repeating: (0, ""), count: 1 << Self.bits)
  }

  deinit {
    bytes.deallocate()
    entries.deinitialize(count: 1 << Self.bits)
    entries.deallocate()
  }

  /// The value; nil if it is not UTF-8.
  @inline(__always)
  mutating func string(_ value: UnsafeBufferPointer<UInt8>) -> String? {
    guard Self.lengths.contains(value.count), let start = UnsafeRawPointer(value.baseAddress) else {
      return String(utf8: value)
    }
    // The last eight bytes may overlap those before.
    let last = value.count - 8
    var hash = Self.word(start, last)
    for offset in stride(from: 0, to: last, by: 8) {
      hash = (hash ^ Self.word(start, offset)) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 32
    }
    let place = Int(truncatingIfNeeded: hash >> 8) & (1 << Self.bits - 1)
    let kept = bytes + place * Self.lengths.upperBound
    if entries[place].count == value.count && xmpp_xml_equal(kept, start, value.count) != 0 {
      return entries[place].string
    }
    guard let string = String(utf8: value) else { return nil }
    kept.copyMemory(from: start, byteCount: value.count)
    entries[place] = (value.count, string)
    return string
  }

  @inline(__always)
  private static func word(_ start: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}
