import Glibc
import ParseXMLInC
import XMPPXML

/// Stanzas of 4 MB that could be expensive. Each should cost about as much as a long text.
enum HostileStanzas {
  static let all: [(name: String, inside: [UInt8])] = [
    ("a long text", fill { _ in "text " }),
    (
      "20,000 contacts",
      fill(upTo: 20_000) {
        "<item jid='number-\($0)@example.org' name='Number \($0)'><group>Friends</group></item>"
      }
    ),
    ("elements", fill { _ in "<a/>" }),
    ("texts", fill { _ in "t<a/>" }),
    ("attributes", fill { _ in "<a b='' c='' d='' e='' f='' g='' h='' i=''/>" }),
    ("different names", fill { "<\(name($0))/>" }),
    (
      "different attributes",
      fill {
        "<a \((0..<200).map { [number = $0] in "\(name(200 * number + $0))=''" }.joined(separator: " "))/>"
      }
    ),
    (
      "many attributes of one tag",
      fill { number in "<a \((0..<7000).map { "\(name($0))=''" }.joined(separator: " "))/>" }
    ),
  ]

  private static func fill(upTo limit: Int = .max, _ next: (Int) -> String) -> [UInt8] {
    var bytes: [UInt8] = []
    var number = 0
    while bytes.count < 3_900_000, number < limit {
      bytes += next(number).utf8
      number += 1
    }
    return bytes
  }

  private static func name(_ number: Int) -> String { "n" + String(number, radix: 36) }

  /// Prints the costs of each stanza for a parser that drops excessive elements.
  static func measure() {
    print("a stanza of 4 MB: milliseconds, megabytes of memory, what became of it")
    for (name, inside) in all { print(row(name, inside)) }
  }

  private static func row(_ name: String, _ inside: [UInt8]) -> String {
    let parser = XMLStreamParser(limits: .init(maximumExcessTokenBytes: 1 << 20))
    let stanza = Array("<m><x>".utf8) + inside + Array("</x></m>".utf8)
    _ = try? parser.parse(Array("<s>".utf8))
    var result = "refused"
    malloc_trim(0)
    forgetPeak()
    let before = memory("VmRSS")
    let seconds = processorSeconds {
      do {
        var start = 0
        while start < stanza.count {
          let end = min(start + chunk, stanza.count)
          for event in try parser.parse(Array(stanza[start..<end])) {
            switch event {
            case .leftOut(_, let reason, _): result = "left out: \(reason)"
            default: result = "read"
            }
          }
          start = end
        }
      } catch {
        result = "ends the stream: \(error)"
      }
    }
    return "  \(name): \(Int(seconds * 1000)) ms, \((memory("VmHWM") - before) / 1024) MB, \(result)"
  }

  /// A memory figure of the process in KiB, such as its current or peak memory.
  private static func memory(_ figure: String) -> Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
      let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        .split { $0 == ":" || $0 == "\t" || $0 == " " }
      if words.first == figure[...], words.count > 1, let figure = Int(words[1]) { return figure }
    }
    return 0
  }

  /// Resets the peak of the memory.
  private static func forgetPeak() {
    guard let file = fopen("/proc/self/clear_refs", "w") else { return }
    fputs("5", file)
    fclose(file)
  }
}
