import Foundation
import Testing

@testable import AgentProtocol

@Suite struct LineCorpusTests {
  @Test("Every input of the fuzzing corpus gives the same lines however its bytes are split, and none traps.")
  func corpus() throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../Fuzz/corpus/LineFramerFuzz")
    let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    #expect(files.count >= 4)
    var calls = 0
    for file in files {
      let bytes = Array(try Data(contentsOf: file))
      let whole = lines(of: [bytes])
      #expect(lines(of: bytes.map { [$0] }) == whole, Comment(rawValue: file.lastPathComponent))
      for line in whole {
        guard let call = try? RPCCall(line: line) else { continue }
        calls += 1
        _ = try? call.parameters(of: PresenceSetMethod.self)
      }
    }
    #expect(calls > 0)
  }

  private func lines(of pieces: [[UInt8]]) -> [String] {
    var framer = LineFramer(limit: 1024)
    var lines: [String] = []
    for piece in pieces {
      framer.append(piece)
      do {
        while let line = try framer.next() { lines.append(line) }
      } catch {
        return lines
      }
    }
    return lines
  }
}
