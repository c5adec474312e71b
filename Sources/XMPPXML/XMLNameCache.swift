import CLibXML2

/// Names already made, found by the addresses of their parts in libxml2's dictionary, which keeps each spelling
/// once for as long as the parser lives.
///
/// Each name has two places; one that finds both taken takes over that of the older. So the cache never grows.
struct XMLNameCache {
  private struct Entry {
    var local: UnsafePointer<xmlChar>?
    var namespace: UnsafePointer<xmlChar>?
    var name: XMLName
  }

  private static let bits = 8
  private var entries = [Entry](repeating: Entry(name: XMLName("")), count: 1 << bits)

  /// The name; nil if it is not UTF-8.
  @inline(__always)
  mutating func name(_ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?) -> XMLName? {
    let mixed = (UInt(bitPattern: local) ^ (UInt(bitPattern: namespace) << 1)) &* 0x9E37_79B9_7F4A_7C15
    let place = Int(truncatingIfNeeded: mixed >> UInt(UInt.bitWidth - Self.bits))
    if entries[place].local == local && entries[place].namespace == namespace { return entries[place].name }
    if entries[place ^ 1].local == local && entries[place ^ 1].namespace == namespace {
      return entries[place ^ 1].name
    }
    return newName(local, namespace, at: place)
  }

  @inline(never)
  private mutating func newName(
    _ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?, at place: Int
  ) -> XMLName? {
    guard let localText = Self.string(local), let namespaceText = namespace.map(Self.string) ?? "" else {
      return nil
    }
    let name = XMLName(localText, namespaceText)
    entries[place ^ 1] = entries[place]
    entries[place] = Entry(local: local, namespace: namespace, name: name)
    return name
  }

  private static func string(_ text: UnsafePointer<xmlChar>) -> String? {
    String(utf8: UnsafeBufferPointer(start: text, count: Int(xmlStrlen(text))))
  }
}

extension String {
  /// Text whose UTF-8 libxml2 has checked, save for overlong forms and surrogates in CDATA sections: nil for
  /// those, which the repair makes longer.
  @inline(__always)
  init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
    self.init(decoding: bytes, as: UTF8.self)
    if utf8.count != bytes.count { return nil }
  }
}
