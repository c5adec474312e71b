import CLibXML2

/// A cache of attribute values. On a stream, the same addresses recur, and finding one costs less than creating it.
///
/// Each value has one place, given by a hash of its bytes. A new value replaces the one in its place, so that a peer
/// gains nothing with colliding values. Long values are not cached, and short ones need no memory of their own in
/// Swift. The cache begins small, which suffices for an idle stream, and doubles with the number of new values up to a
/// maximum.
struct XMLValueCache: ~Copyable {
  private static let maximumBits = 7
  private static let lengths = 16...64

  private var bits = 2
  /// For each place, its bytes and the string made from them.
  private var bytes: UnsafeMutableRawPointer
  private var entries: UnsafeMutablePointer<(count: Int, string: String)>
  /// The number of values that were created at the current size.
  private var made = 0

  init() {
    (bytes, entries) = Self.allocate(bits)
  }

  deinit {
    Self.free(bytes, entries, bits)
  }

  private static func allocate(
    _ bits: Int
  ) -> (UnsafeMutableRawPointer, UnsafeMutablePointer<(count: Int, string: String)>) {
    let entries = UnsafeMutablePointer<(count: Int, string: String)>.allocate(capacity: 1 << bits)
    entries.initialize(repeating: (0, ""), count: 1 << bits)
    return (.allocate(byteCount: lengths.upperBound << bits, alignment: 8), entries)
  }

  private static func free(
    _ bytes: UnsafeMutableRawPointer, _ entries: UnsafeMutablePointer<(count: Int, string: String)>,
    _ bits: Int
  ) {
    bytes.deallocate()
    entries.deinitialize(count: 1 << bits)
    entries.deallocate()
  }

  /// The value as a string; nil if it is not UTF-8.
  @inline(__always)
  mutating func string(_ value: UnsafeBufferPointer<UInt8>) -> String? {
    guard Self.lengths.contains(value.count), let start = UnsafeRawPointer(value.baseAddress) else {
      return String(utf8: value)
    }
    // The last eight bytes may overlap the previous ones.
    let last = value.count - 8
    var hash = Self.word(start, last)
    for offset in stride(from: 0, to: last, by: 8) {
      hash = (hash ^ Self.word(start, offset)) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 32
    }
    hash >>= 8
    let place = Int(truncatingIfNeeded: hash) & (1 << bits - 1)
    let kept = bytes + place * Self.lengths.upperBound
    if entries[place].count == value.count && xmpp_xml_equal(kept, start, value.count) != 0 {
      return entries[place].string
    }
    return make(value, hash)
  }

  @inline(never)
  private mutating func make(_ value: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> String? {
    guard let string = String(utf8: value), let start = value.baseAddress else { return nil }
    if made == 1 << bits, bits < Self.maximumBits {
      Self.free(bytes, entries, bits)
      bits += 1
      (bytes, entries) = Self.allocate(bits)
      made = 0
    }
    made += 1
    let place = Int(truncatingIfNeeded: hash) & (1 << bits - 1)
    (bytes + place * Self.lengths.upperBound).copyMemory(from: start, byteCount: value.count)
    entries[place] = (value.count, string)
    return string
  }

  @inline(__always)
  private static func word(_ start: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}
