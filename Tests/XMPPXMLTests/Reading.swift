import Testing
import XMPPXML

/// What a parser made of a transcript.
struct Reading: Equatable {
  var events: [XMLStreamParser.Event] = []
  var error: XMLStreamError.Code?
  var bytesAfterLastEvent = 0

  /// Feeds the pieces until the first error.
  init(_ pieces: some Sequence<ArraySlice<UInt8>>, limits: XMLStreamParser.Limits = .init()) {
    let parser = XMLStreamParser(limits: limits)
    do {
      for piece in pieces {
        try piece.withUnsafeBytes { piece in try parser.parse(piece) { events.append($0) } }
        if events.last == .closed { break }
      }
    } catch let failure as XMLStreamError {
      error = failure.code
    } catch {
      Issue.record(error)
    }
    bytesAfterLastEvent = parser.bytesAfterLastEvent
  }

  /// Reads a transcript in one piece, byte by byte and at every split, and records where that makes a difference.
  static func everyWay(
    _ xml: [UInt8], limits: XMLStreamParser.Limits = .init(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Reading {
    let whole = Reading([xml[...]], limits: limits)
    var others = [Reading(xml.indices.map { xml[$0...$0] }, limits: limits)]
    for split in xml.indices.dropFirst() {
      others.append(Reading([xml[..<split], xml[split...]], limits: limits))
    }
    for (split, other) in others.enumerated() {
      #expect(other.events == whole.events, "split \(split)", sourceLocation: sourceLocation)
      #expect((other.error == nil) == (whole.error == nil), "split \(split)", sourceLocation: sourceLocation)
      if whole.error == nil && whole.events.last != .closed {
        #expect(
          other.bytesAfterLastEvent == whole.bytesAfterLastEvent, "split \(split)",
          sourceLocation: sourceLocation)
      }
    }
    return whole
  }

  static func everyWay(
    _ xml: String, limits: XMLStreamParser.Limits = .init(), sourceLocation: SourceLocation = #_sourceLocation
  ) -> Reading {
    everyWay(Array(xml.utf8), limits: limits, sourceLocation: sourceLocation)
  }

  /// The elements read.
  var elements: [XMLElement] {
    events.compactMap { if case .element(let element) = $0 { element } else { nil } }
  }
}

/// A stream header as a server sends it.
let header =
  "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='c2f' from='example.org' version='1.0' xml:lang='en'>"
