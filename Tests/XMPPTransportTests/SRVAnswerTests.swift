import TestSupport
import Testing

@testable import XMPPTransport

/// DNS messages made by hand (RFC 1035 §4.1).
struct DNSMessage {
  var bytes: [UInt8]

  /// A response to a question for SRV records of `name`; the answers' owner is a pointer to the question.
  init(id: UInt16 = 1, name: String, answers: [[UInt8]], rcode: UInt8 = 0, type: UInt16 = 33) {
    bytes = Self.number(id) + [0x81, 0x80 | rcode, 0, 1] + Self.number(UInt16(answers.count)) + [0, 0, 0, 0]
    bytes += Self.encode(name) + Self.number(type) + [0, 1]
    for data in answers {
      bytes +=
        [0xC0, 0x0C] + Self.number(type) + [0, 1, 0, 0, 0, 60] + Self.number(UInt16(data.count)) + data
    }
  }

  static func srv(_ priority: UInt16, _ weight: UInt16, _ port: UInt16, _ host: String) -> [UInt8] {
    number(priority) + number(weight) + number(port) + encode(host)
  }

  static func number(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

  static func encode(_ name: String) -> [UInt8] {
    name.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }
}

@Suite struct SRVAnswerTests {
  private static let name = "_xmpp-client._tcp.example.org"

  private func answer(_ records: [UInt8]..., rcode: UInt8 = 0, type: UInt16 = 33) -> SRVAnswer {
    SRVAnswer(message: DNSMessage(name: Self.name, answers: records, rcode: rcode, type: type).bytes)
  }

  @Test("SRV records are read with priority, weight, port and host.")
  func records() {
    let read = answer(
      DNSMessage.srv(10, 65_535, 5222, "a.example.org"), DNSMessage.srv(0, 0, 443, "B.example"))
    #expect(
      read
        == .records([
          .init(priority: 10, weight: 65_535, port: 5222, host: "a.example.org"),
          .init(priority: 0, weight: 0, port: 443, host: "B.example"),
        ]))
  }

  @Test("A compressed target name is read.")
  func compression() {
    // "chat" and a pointer to "example.org" in the question: header 12, "_xmpp-client" 13, "_tcp" 5.
    let data = [0, 1, 0, 2, 0x14, 0x66, 4] + Array("chat".utf8) + [0xC0, 30]
    #expect(answer(data) == .records([.init(priority: 1, weight: 2, port: 5222, host: "chat.example.org")]))
  }

  @Test(
    "A record whose target is a lone dot says that there is no service, but is ignored beside other records."
  )
  func dot() {
    #expect(answer(DNSMessage.srv(0, 0, 0, ".")) == .unavailable)
    let both = answer(DNSMessage.srv(0, 0, 0, "."), DNSMessage.srv(1, 1, 1, "a.example"))
    #expect(both == .records([.init(priority: 1, weight: 1, port: 1, host: "a.example")]))
  }

  @Test("A DNS answer without SRV records, or with an error code, counts as no answer.")
  func nothing() {
    #expect(answer() == .none)
    #expect(answer(DNSMessage.srv(0, 0, 5222, "a.example"), rcode: 3) == .none)
    #expect(answer(DNSMessage.srv(0, 0, 5222, "a.example"), rcode: 2) == .none)
    #expect(answer([127, 0, 0, 1], type: 1) == .none)
    #expect(SRVAnswer(message: []) == .none)
    #expect(SRVAnswer(message: [0]) == .none)
  }

  @Test(
    "A target that is not a valid host name is left out.",
    arguments: ["a b.example", "a\u{1B}[2J.example", "$(id).example", "bücher.example", "a/b"])
  func strangeNames(host: String) {
    #expect(answer(DNSMessage.srv(0, 0, 5222, host)) == .none)
  }

  @Test("A record with port 0, or too short for its fields, is left out.")
  func unusable() {
    #expect(answer(DNSMessage.srv(0, 0, 0, "a.example")) == .none)
    for length in 0...6 {
      #expect(answer(Array(DNSMessage.srv(0, 0, 5222, "a.example").prefix(length))) == .none)
    }
  }

  @Test("A target with a compression pointer to itself, ahead or outside is left out.")
  func compressionLoops() {
    let offset = UInt8(12 + DNSMessage.encode(Self.name).count + 4 + 12 + 6)
    for pointer in [
      [0xC0, offset], [0xC0, offset + 1], [0xFF, 0xFF], [0xC0], [0x80, 1], [1, 97, 0xC0, offset],
    ] as [[UInt8]] {
      #expect(answer([0, 0, 0, 0, 0x14, 0x66] + pointer) == .none)
    }
  }

  @Test("A target with a name longer than DNS allows is left out.")
  func longName() {
    let label = [63] + [UInt8](repeating: 97, count: 63)
    #expect(answer([0, 0, 0, 0, 0x14, 0x66] + (0..<8).flatMap { _ in label } + [0]) == .none)
  }

  @Test("A message that is cut anywhere gives only the records before the cut.")
  func truncation() {
    let whole = DNSMessage(
      name: Self.name,
      answers: [DNSMessage.srv(1, 1, 5222, "a.example"), DNSMessage.srv(2, 2, 5223, "b.example")]
    ).bytes
    let first = SRVAnswer.Record(priority: 1, weight: 1, port: 5222, host: "a.example")
    for length in whole.indices {
      let read = SRVAnswer(message: whole.prefix(length))
      #expect(read == .none || read == .records([first]))
    }
  }

  @Test("Only the first records of a very long answer are used.")
  func bounded() {
    let records = (0..<2_000).map { _ in DNSMessage.srv(1, 1, 5222, "a.example") }
    guard case .records(let read) = SRVAnswer(message: DNSMessage(name: Self.name, answers: records).bytes)
    else {
      Issue.record("no records")
      return
    }
    #expect(read.count == SRVAnswer.maximumRecords)
  }

  @Test("Random and damaged messages never trap.")
  func fuzz() {
    var generator = SeededGenerator(seed: 99)
    let valid = DNSMessage(
      name: Self.name, answers: (0..<5).map { DNSMessage.srv(1, 1, 5222, "host\($0).example.org") }
    ).bytes
    var survivors = 0
    for round in 0..<20_000 {
      var bytes = valid
      if round.isMultiple(of: 2) {
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
          bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
        }
      } else {
        bytes = (0..<Int.random(in: 0...100, using: &generator)).map { _ in
          .random(in: 0...255, using: &generator)
        }
      }
      if case .records(let records) = SRVAnswer(message: bytes) {
        survivors += 1
        #expect(records.count <= SRVAnswer.maximumRecords)
      }
    }
    #expect(survivors > 1_000)
  }
}
