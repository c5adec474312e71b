// modules: XMPPXML

import XMPPXML

/// Any bytes are read alike in one piece and in pieces, within the limits; what is read can be written and is
/// read again as it was. The first byte sets where the input is split, and whether what is too much is left
/// out.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzXMLStreamParser(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let xml = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  var limits = smallLimits
  if start[0] >= 128 { limits.maximumExcessTokenBytes = 500 }
  let whole = read(xml, pieceBytes: xml.count, limits: limits)
  let pieces = read(xml, pieceBytes: Int(start[0] % 32) + 1, limits: limits)
  guard whole.events == pieces.events else {
    fatalError("\(whole) in one piece, in others \(pieces)")
  }
  for case .element(let element) in whole.events {
    let written = Array("<s>".utf8) + Array(element.xmlString().utf8)
    let again = written.withUnsafeBytes {
      read($0, pieceBytes: $0.count, limits: .init(maximumTokenBytes: 1 << 20))
    }
    guard again.error == nil, again.events.last == .element(element) else {
      fatalError("\(element) is written as \(String(decoding: written, as: UTF8.self)) and read as \(again)")
    }
  }
  return 0
}

// Of the limits, that of a token allows a little more in one piece than in others.
private let smallLimits = XMLStreamParser.Limits(
  maximumElementBytes: 1000, maximumTokenBytes: 1 << 20, maximumDepth: 8, maximumAttributes: 8,
  maximumNamespaces: 8, maximumElements: 20, maximumAttributesInAll: 20, maximumNames: 16)

private func read(
  _ bytes: UnsafeRawBufferPointer, pieceBytes: Int, limits: XMLStreamParser.Limits = smallLimits
) -> (events: [XMLStreamParser.Event], error: XMLStreamError?) {
  let parser = XMLStreamParser(limits: limits)
  var events: [XMLStreamParser.Event] = []
  var fed = 0
  do {
    while fed < bytes.count, events.last != .closed {
      let piece = UnsafeRawBufferPointer(rebasing: bytes[fed..<min(fed + pieceBytes, bytes.count)])
      fed += piece.count
      try parser.parse(piece) { event in
        events.append(event)
        guard (0...fed).contains(parser.bytesAfterLastEvent) else { fatalError("an event from nowhere") }
      }
    }
  } catch {
    return (events, error as? XMLStreamError)
  }
  return (events, nil)
}
