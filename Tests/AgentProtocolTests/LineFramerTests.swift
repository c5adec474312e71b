import AgentProtocol
import Testing

@Suite struct LineFramerTests {
  private func lines(_ chunks: [[UInt8]], limit: Int = LineFramer.maximumLine) throws -> [String] {
    var framer = LineFramer(limit: limit)
    var lines: [String] = []
    for chunk in chunks {
      framer.append(chunk)
      while let line = try framer.next() { lines.append(line) }
    }
    return lines
  }

  @Test("The framer gives the same lines however their bytes are split.")
  func everySplit() throws {
    let bytes = Array("{\"a\":\"é🙂\"}\n\n\r\n{}\r\nhalf".utf8)
    let expected = ["{\"a\":\"é🙂\"}", "{}\r"]
    #expect(try lines([bytes]) == expected)
    #expect(try lines(bytes.map { [$0] }) == expected)
    for cut in bytes.indices {
      #expect(try lines([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
    }
  }

  @Test("An incomplete line is kept until its end arrives.")
  func half() throws {
    var framer = LineFramer()
    framer.append(Array("ab".utf8))
    #expect(try framer.next() == nil)
    #expect(framer.pending == 2)
    framer.append(Array("c\n".utf8))
    #expect(try framer.next() == "abc")
    #expect(try framer.next() == nil)
    #expect(framer.pending == 0)
  }

  @Test("A line of the maximum length is accepted, and a line that is one octet longer is refused.")
  func limit() throws {
    #expect(try lines([Array("12345678\n".utf8)], limit: 8) == ["12345678"])
    #expect(throws: LineFramer.Violation.tooLong) { try lines([Array("123456789\n".utf8)], limit: 8) }
    #expect(throws: LineFramer.Violation.tooLong) { try lines([Array("123456789".utf8)], limit: 8) }
  }

  @Test("A line of 100 MB is refused early and is not kept in memory.")
  func bounded() {
    var framer = LineFramer()
    let chunk = [UInt8](repeating: 0x61, count: 65536)
    var refused = 0
    for _ in 0..<1600 {
      framer.append(chunk)
      do { _ = try framer.next() } catch { refused += 1 }
      #expect(framer.pending <= LineFramer.maximumLine + chunk.count)
    }
    #expect(refused == 1600 - LineFramer.maximumLine / 65536)
  }

  @Test(
    "A line that is not UTF-8 is refused, and the lines before it are returned.",
    arguments: [[0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xFF], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]]
  )
  func invalidUTF8(bytes: [UInt8]) throws {
    var framer = LineFramer()
    framer.append(Array("ok\n".utf8) + bytes + [0x0A])
    #expect(try framer.next() == "ok")
    #expect(throws: LineFramer.Violation.invalidUTF8) { try framer.next() }
    framer.append(Array("later\n".utf8))
    #expect(throws: LineFramer.Violation.invalidUTF8) { try framer.next() }
  }
}
