/// Finds the end of an element that is skipped, in one pass over its bytes and without storing its content.
///
/// It considers only tags. It compares no names, and ignores references, characters and namespaces, because the server
/// has already parsed the element. It refuses what RFC 6120 §11.1 forbids.
struct XMLDepthScanner {
  enum Place {
    case text
    /// After `<`.
    case markup
    case startTag(isEmpty: Bool)
    case value(quote: UInt8)
    case endTag
    /// After `<!`, and this number of characters that begin a CDATA section.
    case declaration(Int)
    /// After this number of `]` characters.
    case data(Int)
  }

  private static let opening = Array("[CDATA[".utf8)

  /// The number of open elements, including the one whose end is sought.
  private var depth: Int
  private var place: Place
  private let maximumTokenBytes: Int
  private var tokenBytes = 0

  /// - Parameters:
  ///   - place: The place of the first byte.
  ///   - depth: The number of open elements, including the one whose end is sought, but excluding the one whose start
  ///     tag contains the first byte.
  ///   - maximumTokenBytes: The maximum number of bytes of a tag.
  init(at place: Place, depth: Int, maximumTokenBytes: Int) {
    self.place = place
    self.depth = depth
    self.maximumTokenBytes = maximumTokenBytes
  }

  /// Continues with these bytes. If the element ends in them, returns the number of bytes up to its end.
  mutating func end(in bytes: UnsafeRawBufferPointer) throws(XMLStreamError) -> Int? {
    for (index, byte) in bytes.enumerated() {
      tokenBytes += 1
      switch place {
      case .text:
        tokenBytes = 0
        if byte == UInt8(ascii: "<") { place = .markup }
      case .markup: try begin(byte)
      case .startTag(let isEmpty):
        switch byte {
        case UInt8(ascii: "/"): place = .startTag(isEmpty: true)
        case UInt8(ascii: "'"), UInt8(ascii: "\""): place = .value(quote: byte)
        case UInt8(ascii: ">"):
          place = .text
          if !isEmpty { depth += 1 }
          if depth == 0 { return index + 1 }
        default: place = .startTag(isEmpty: false)
        }
      case .value(let quote): if byte == quote { place = .startTag(isEmpty: false) }
      case .endTag:
        guard byte == UInt8(ascii: ">") else { continue }
        place = .text
        depth -= 1
        if depth == 0 { return index + 1 }
      case .declaration(let count):
        guard byte == Self.opening[count] else { throw XMLStreamError(.restrictedXML, "a comment") }
        place = count + 1 == Self.opening.count ? .data(0) : .declaration(count + 1)
      case .data(let brackets):
        tokenBytes = 0
        switch byte {
        case UInt8(ascii: "]"): place = .data(min(brackets + 1, 2))
        case UInt8(ascii: ">") where brackets == 2: place = .text
        default: place = .data(0)
        }
      }
    }
    guard tokenBytes <= maximumTokenBytes else {
      throw XMLStreamError(.limitExceeded, "a token of more than \(maximumTokenBytes) bytes")
    }
    return nil
  }

  private mutating func begin(_ byte: UInt8) throws(XMLStreamError) {
    switch byte {
    case UInt8(ascii: "/"): place = .endTag
    case UInt8(ascii: "!"): place = .declaration(0)
    case UInt8(ascii: "?"): throw XMLStreamError(.restrictedXML, "a processing instruction")
    case UInt8(ascii: ">"), UInt8(ascii: "<"), UInt8(ascii: " "):
      throw XMLStreamError(.notWellFormed, "a tag without a name")
    default: place = .startTag(isEmpty: false)
    }
  }
}

extension XMLDepthScanner {
  /// The first bytes of a start tag as a complete tag, with its name and those attributes that are complete. Nil if the
  /// name is incomplete.
  static func shortened(_ tag: UnsafeRawBufferPointer, to length: Int) -> [UInt8]? {
    var end: Int?
    var quote: UInt8?
    for (index, byte) in tag.prefix(length).enumerated() {
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        if quote == byte {
          quote = nil
          end = index + 1
        } else if quote == nil {
          quote = byte
        }
      case 0x20, 0x09, 0x0A, 0x0D: if end == nil { end = index }
      default: break
      }
    }
    return end.map { tag.prefix($0) + Array("/>".utf8) }
  }
}
