import CLibXML2

/// A cache of names, whose keys are the addresses of their parts in libxml2's dictionary. The dictionary keeps each
/// spelling once for as long as the parser lives.
///
/// Each name has two possible places. A name that finds both taken replaces the older one. The cache begins small,
/// which suffices for an idle stream, and doubles with the number of new names up to a maximum.
struct XMLNameCache {
  private struct Entry {
    var local: UnsafePointer<xmlChar>?
    var namespace: UnsafePointer<xmlChar>?
    var name: XMLName
  }

  private static let maximumBits = 8
  private var bits = 4
  private var entries = [Entry](repeating: Entry(name: XMLName("")), count: 1 << 4)
  /// The number of names that were created at the current size.
  private var made = 0

  /// The name in a place from ``place(_:_:)``.
  @inline(__always)
  subscript(place: Int) -> XMLName { entries[place].name }

  /// The place of a name, which is created if necessary; nil if it is not UTF-8.
  @inline(__always)
  mutating func place(_ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?) -> Int? {
    let place = home(local, namespace)
    if entries[place].local == local && entries[place].namespace == namespace { return place }
    let other = place ^ 1
    if entries[other].local == local && entries[other].namespace == namespace { return other }
    return make(local, namespace, at: place)
  }

  @inline(__always)
  private func home(_ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?) -> Int {
    let mixed = (UInt(bitPattern: local) ^ (UInt(bitPattern: namespace) << 1)) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> UInt(UInt.bitWidth - bits))
  }

  @inline(never)
  private mutating func make(
    _ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?, at place: Int
  ) -> Int? {
    var place = place
    if made == entries.count, bits < Self.maximumBits {
      bits += 1
      entries = [Entry](repeating: Entry(name: XMLName("")), count: 1 << bits)
      made = 0
      place = home(local, namespace)
    }
    made += 1
    guard let localText = Self.string(local), let namespaceText = namespace.map(Self.string) ?? "" else {
      return nil
    }
    let name = XMLName(localText, namespaceText)
    entries[place ^ 1] = entries[place]
    entries[place] = Entry(local: local, namespace: namespace, name: name)
    return place
  }

  static func string(_ text: UnsafePointer<xmlChar>) -> String? {
    String(utf8: UnsafeBufferPointer(start: text, count: Int(xmlStrlen(text))))
  }
}

extension String {
  /// Creates a string from UTF-8 that libxml2 has validated, except for overlong forms and surrogates in CDATA
  /// sections. Returns nil for those, which Swift's repair makes longer.
  @inline(__always)
  init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
    self.init(decoding: bytes, as: UTF8.self)
    if utf8.count != bytes.count { return nil }
  }
}
