import CLibXML2

/// Names already made, found by the addresses of their parts in libxml2's dictionary, which keeps each spelling
/// once for as long as the parser lives.
///
/// Each name has one place; one that needs a taken place takes it over. So the cache never grows.
struct XMLNameCache {
  private struct Entry {
    var local: UnsafePointer<xmlChar>?
    var namespace: UnsafePointer<xmlChar>?
    var name: XMLName
  }

  private static let bits = 8
  private var entries = [Entry](repeating: Entry(name: XMLName("")), count: 1 << bits)

  /// The name; nil if it is not UTF-8.
  mutating func name(_ local: UnsafePointer<xmlChar>, _ namespace: UnsafePointer<xmlChar>?) -> XMLName? {
    let mixed = (UInt(bitPattern: local) ^ (UInt(bitPattern: namespace) << 1)) &* 0x9E37_79B9_7F4A_7C15
    let place = Int(truncatingIfNeeded: mixed >> UInt(UInt.bitWidth - Self.bits))
    if entries[place].local == local && entries[place].namespace == namespace { return entries[place].name }
    guard let localText = Self.string(local), let namespaceText = namespace.map(Self.string) ?? "" else {
      return nil
    }
    let name = XMLName(localText, namespaceText)
    entries[place] = Entry(local: local, namespace: namespace, name: name)
    return name
  }

  private static func string(_ text: UnsafePointer<xmlChar>) -> String? {
    String(validating: UnsafeBufferPointer(start: text, count: Int(xmlStrlen(text))), as: UTF8.self)
  }
}
