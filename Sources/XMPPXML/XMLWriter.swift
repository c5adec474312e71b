/// Writes elements as XML for a stream: UTF-8, without declaration and without anything that RFC 6120 §11.1 forbids.
///
/// No text can break out of its place or end the stream: markup is escaped, and a character that XML 1.0 §2.2 forbids
/// is replaced by U+FFFD. Names come from the program; in them, an invalid ASCII character is replaced by `_`.
public enum XMLWriter {
  static let xmlNamespace = "http://www.w3.org/XML/1998/namespace"
  static let xmlnsNamespace = "http://www.w3.org/2000/xmlns/"

  /// Appends character data. Carriage returns are escaped, since parsers would turn them into line feeds.
  public static func write(text: String, into bytes: inout [UInt8]) {
    write(text, into: &bytes) { byte in
      switch byte {
      case UInt8(ascii: "&"): "&amp;"
      case UInt8(ascii: "<"): "&lt;"
      case UInt8(ascii: ">"): "&gt;"
      case 0x0D: "&#13;"
      default: nil
      }
    }
  }

  /// Appends an attribute's value for either kind of quotes. White space other than a space is escaped, since parsers
  /// would turn it into spaces (XML 1.0 §3.3.3).
  public static func write(attributeValue text: String, into bytes: inout [UInt8]) {
    write(text, into: &bytes) { byte in
      switch byte {
      case UInt8(ascii: "&"): "&amp;"
      case UInt8(ascii: "<"): "&lt;"
      case UInt8(ascii: ">"): "&gt;"
      case UInt8(ascii: "'"): "&apos;"
      case UInt8(ascii: "\""): "&quot;"
      case 0x09: "&#9;"
      case 0x0A: "&#10;"
      case 0x0D: "&#13;"
      default: nil
      }
    }
  }

  /// Character data with its markup escaped.
  public static func escaped(text: String) -> String {
    var bytes: [UInt8] = []
    write(text: text, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// An attribute's value with its markup escaped, without quotes.
  public static func escaped(attributeValue text: String) -> String {
    var bytes: [UInt8] = []
    write(attributeValue: text, into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the byte is certainly neither markup nor part of a forbidden character, as most bytes of a text are.
  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ")
      || (byte > UInt8(ascii: "'") && byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">") && byte != 0xEF)
  }

  @inline(__always)
  private static func write(
    _ text: String, into bytes: inout [UInt8], escape: (UInt8) -> StaticString?
  ) {
    var text = text
    text.withUTF8 { source in
      var written = 0
      var index = 0
      while index < source.count {
        let byte = source[index]
        if isPlain(byte) {
          index += 1
          continue
        }
        var length = 1
        var replacement: StaticString?
        if byte == 0xEF {
          // U+FFFE and U+FFFF
          if source[index + 1] == 0xBF, source[index + 2] >= 0xBE {
            length = 3
            replacement = "\u{FFFD}"
          }
        } else if let escaped = escape(byte) {
          replacement = escaped
        } else if byte < 0x20 && byte != 0x09 && byte != 0x0A {
          replacement = "\u{FFFD}"
        }
        if let replacement {
          bytes.append(contentsOf: source[written..<index])
          replacement.withUTF8Buffer { bytes.append(contentsOf: $0) }
          written = index + length
        }
        index += length
      }
      bytes.append(contentsOf: source[written...])
    }
  }

  fileprivate static func write(name: String, into bytes: inout [UInt8]) {
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        0x80...:
        bytes.append(byte)
      default: bytes.append(UInt8(ascii: "_"))
      }
    }
  }
}

extension XMLElement {
  /// Appends the element as XML.
  ///
  /// - Parameter namespace: The default namespace in scope, which is not declared again; for a stanza, the content
  ///   namespace of its stream.
  public func write(into bytes: inout [UInt8], inheriting namespace: String = "") {
    var inner = namespace
    bytes.append(UInt8(ascii: "<"))
    writeQualifiedName(into: &bytes)
    if name.namespace != namespace && name.namespace != XMLWriter.xmlNamespace {
      inner = name.namespace
      bytes.append(contentsOf: " xmlns='".utf8)
      XMLWriter.write(attributeValue: inner, into: &bytes)
      bytes.append(UInt8(ascii: "'"))
    }
    writeAttributes(into: &bytes)
    switch content {
    case .nodes(let nodes) where nodes.isEmpty:
      bytes.append(contentsOf: "/>".utf8)
      return
    case .nodes(let nodes):
      bytes.append(UInt8(ascii: ">"))
      for node in nodes {
        switch node {
        case .element(let element): element.write(into: &bytes, inheriting: inner)
        case .text(let text): XMLWriter.write(text: text, into: &bytes)
        }
      }
    case .text(let text):
      bytes.append(UInt8(ascii: ">"))
      XMLWriter.write(text: text, into: &bytes)
    }
    bytes.append(contentsOf: "</".utf8)
    writeQualifiedName(into: &bytes)
    bytes.append(UInt8(ascii: ">"))
  }

  /// The element as XML.
  public func xmlString(inheriting namespace: String = "") -> String {
    var bytes: [UInt8] = []
    write(into: &bytes, inheriting: namespace)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func writeQualifiedName(into bytes: inout [UInt8]) {
    if name.namespace == XMLWriter.xmlNamespace { bytes.append(contentsOf: "xml:".utf8) }
    XMLWriter.write(name: name.local, into: &bytes)
  }

  /// Writes the attributes. Of several with the same name, only the first is written, as for the subscript. The
  /// prefixes of namespaces are chosen for this element.
  private func writeAttributes(into bytes: inout [UInt8]) {
    var prefixed: [String] = []
    for (index, attribute) in attributes.enumerated() {
      let namespace = attribute.name.namespace
      if namespace == XMLWriter.xmlnsNamespace { continue }
      if attributes[..<index].contains(where: { $0.name == attribute.name }) { continue }
      bytes.append(UInt8(ascii: " "))
      if namespace == XMLWriter.xmlNamespace {
        bytes.append(contentsOf: "xml:".utf8)
      } else if !namespace.isEmpty {
        let number = prefixed.firstIndex(of: namespace) ?? prefixed.count
        if number == prefixed.count {
          prefixed.append(namespace)
          bytes.append(contentsOf: "xmlns:n\(number)='".utf8)
          XMLWriter.write(attributeValue: namespace, into: &bytes)
          bytes.append(contentsOf: "' ".utf8)
        }
        bytes.append(contentsOf: "n\(number):".utf8)
      }
      XMLWriter.write(name: attribute.name.local, into: &bytes)
      bytes.append(contentsOf: "='".utf8)
      XMLWriter.write(attributeValue: attribute.value, into: &bytes)
      bytes.append(UInt8(ascii: "'"))
    }
  }
}
