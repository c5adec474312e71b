// Compares XMLStreamParser with a C program that uses the same libxml2 interface, on one stream of small messages.
// Usage: ParseXML [megabytes] [rounds]; use a release build.
//
// The results are megabytes per second of processor time, which other programs on the machine affect least. The C
// program's trees own their names, like those in Swift. The second result for C is for trees that borrow their names
// from the parser and cannot outlive it.

import Glibc
import ParseXMLInC
import XMPPXML

let chunk = 16 << 10

func stream(bytes length: Int) -> [UInt8] {
  let texts = [
    "Art thou not Romeo, and a Montague?", "ok", "Neither, fair saint, if either thee dislike &lt;3",
    "Wie bist du hergekommen, sag mir, über welche Mauer? Grüße aus Köln",
    "see https://example.org/?a=1&amp;b=2 for the minutes, and tell me what you think about the third item",
    "了解しました、また明日",
  ]
  var bytes = Array(
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='s1' from='example.org' version='1.0' xml:lang='en'>"
      .utf8)
  bytes.reserveCapacity(length + 1024)
  var number = 0
  while bytes.count < length {
    number += 1
    let id = "7c2f\(number)-b1"
    var stanza =
      "<message from='romeo\(number % 97)@montague.example/orchard' to='juliet@capulet.example' type='chat' id='\(id)'><body>\(texts[number % texts.count])</body>"
    switch number % 4 {
    case 0: stanza += "<active xmlns='http://jabber.org/protocol/chatstates'/>"
    case 1: stanza += "<request xmlns='urn:xmpp:receipts'/>"
    case 2: stanza += "<delay xmlns='urn:xmpp:delay' from='capulet.example' stamp='2026-09-10T23:08:25Z'/>"
    default: stanza += "<stanza-id xmlns='urn:xmpp:sid:0' id='\(id)-x' by='juliet@capulet.example'/>"
    }
    bytes.append(contentsOf: (stanza + "</message>").utf8)
  }
  return bytes
}

func count(_ element: XMLElement, _ counts: inout parse_xml_counts) {
  counts.elements += 1
  for attribute in element.attributes { counts.attribute_bytes += attribute.value.utf8.count }
  for child in element.children {
    switch child {
    case .element(let element): count(element, &counts)
    case .text(let text): counts.text_bytes += text.utf8.count
    }
  }
}

/// Creates and frees the tree of each stanza. It is inspected only for counting.
func parseInSwift(_ bytes: UnsafeRawBufferPointer, counts: inout parse_xml_counts, counting: Bool) throws {
  let parser = XMLStreamParser()
  var start = 0
  while start < bytes.count {
    let end = min(start + chunk, bytes.count)
    try parser.parse(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) { event in
      guard case .element(let element) = event else { return }
      counts.stanzas += 1
      if counting { count(element, &counts) }
    }
    start = end
  }
}

func parseInC(_ bytes: UnsafeRawBufferPointer, counts: inout parse_xml_counts, counting: Bool, owning: Bool) {
  let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
  let status = parse_xml_in_c(text, bytes.count, chunk, &counts, counting ? 1 : 0, owning ? 1 : 0)
  if status != 0 { print("libxml2 error \(status)") }
}

func processorSeconds(_ work: () throws -> Void) rethrows -> Double {
  var before = timespec()
  var after = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before)
  try work()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after)
  return Double(after.tv_sec - before.tv_sec) + Double(after.tv_nsec - before.tv_nsec) / 1e9
}

HostileStanzas.measure()

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let megabytes = arguments.first ?? 100
let rounds = arguments.dropFirst().first ?? 5
let bytes = stream(bytes: megabytes * 1_000_000)
let size = Double(bytes.count) / 1e6

var inC = parse_xml_counts()
var inSwift = parse_xml_counts()
try bytes.withUnsafeBytes {
  parseInC($0, counts: &inC, counting: true, owning: true)
  try parseInSwift($0, counts: &inSwift, counting: true)
}
guard
  inC.stanzas == inSwift.stanzas, inC.elements == inSwift.elements,
  inC.attribute_bytes == inSwift.attribute_bytes, inC.text_bytes == inSwift.text_bytes
else {
  print("the two read different things: \(inC) and \(inSwift)")
  exit(1)
}

var ratios: (borrowing: [Double], owning: [Double]) = ([], [])
for round in 1...rounds {
  try bytes.withUnsafeBytes { bytes in
    let borrowing = processorSeconds { parseInC(bytes, counts: &inC, counting: false, owning: false) }
    let swift = try processorSeconds { try parseInSwift(bytes, counts: &inSwift, counting: false) }
    let owning = processorSeconds { parseInC(bytes, counts: &inC, counting: false, owning: true) }
    ratios.borrowing.append(borrowing / swift)
    ratios.owning.append(owning / swift)
    print(
      "round \(round): Swift \(speed(swift)), C \(speed(owning)), C with borrowed names \(speed(borrowing)) MB/s"
    )
  }
}
print(
  "Swift's part of C's speed: \(median(ratios.owning)), of C's with borrowed names: \(median(ratios.borrowing))"
)

func speed(_ seconds: Double) -> Int {
  Int((size / seconds).rounded())
}

func median(_ ratios: [Double]) -> Double {
  (ratios.sorted()[ratios.count / 2] * 100).rounded() / 100
}
