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

  private let bytes = UnsafeMutableRawPointer.allocate(
    byteCount: lengths.upperBound << bits, alignment: lengths.upperBound)
  private var strings = [String](repeating: "", count: 1 << bits)

  deinit { bytes.deallocate() }

  /// The value; nil if it is not UTF-8.
  @inline(__always)
  mutating func string(_ value: UnsafeBufferPointer<UInt8>) -> String? {
    guard Self.lengths.contains(value.count), let start = UnsafeRawPointer(value.baseAddress) else {
      return String(utf8: value)
    }
    let place = Self.place(start, value.count)
    let kept = bytes + place * Self.lengths.upperBound
    if strings[place].utf8.count == value.count && xmpp_xml_equal(kept, start, value.count) != 0 {
      return strings[place]
    }
    guard let string = String(utf8: value) else { return nil }
    kept.copyMemory(from: start, byteCount: value.count)
    strings[place] = string
    return string
  }

  /// A hash of the bytes, eight at a time; the last eight may overlap those before.
  @inline(__always)
  private static func place(_ start: UnsafeRawPointer, _ count: Int) -> Int {
    var hash = UInt64(truncatingIfNeeded: count)
    var offset = 0
    while offset < count {
      let word = start.loadUnaligned(fromByteOffset: min(offset, count - 8), as: UInt64.self)
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 32
      offset += 8
    }
    return Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 - bits))
  }
}
