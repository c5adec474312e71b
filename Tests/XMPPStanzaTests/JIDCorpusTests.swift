import Foundation
import Testing

@testable import XMPPStanza

@Suite struct JIDCorpusTests {
  @Test("Every input of the fuzzing corpus is either an invalid JID or one that is stable when read again.")
  func corpus() throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../Fuzz/corpus/JIDFuzz")
    let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    #expect(files.count > 30)
    var jids = 0
    for file in files {
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      guard let jid = try? JID(text) else { continue }
      jids += 1
      let comment = Comment(rawValue: file.lastPathComponent)
      #expect(try JID(jid.description) == jid, comment)
      #expect(try JID(jid.asciiDomain).domain == jid.domain, comment)
      #expect(1...200 ~= jid.fileName.utf8.count && !jid.fileName.contains("/"), comment)
    }
    #expect(jids > 10)
  }

  @Test("Bytes that are not UTF-8 are never accepted as an account.")
  func invalidUTF8() {
    for bytes in [[0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xF4, 0x90, 0x80, 0x80]]
      as [[UInt8]]
    {
      let local = String(decoding: Array("a".utf8) + bytes + Array("@example.com".utf8), as: UTF8.self)
      let domain = String(decoding: Array("a@example".utf8) + bytes, as: UTF8.self)
      #expect(throws: JIDError.self) { try JID(local) }
      #expect(throws: JIDError.self) { try JID(domain) }
    }
  }
}
