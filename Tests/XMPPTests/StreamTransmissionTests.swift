import NIOCore
import Synchronization
import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Stanzas in TLS records", .timeLimit(.minutes(6)))
struct StreamTransmissionTests {
  @Test("A TLS record ends at the end of a stanza unless the stanza is too large for one record.")
  func records() async throws {
    let server = try await ScriptedServer(.login(until: .bound) + [.stall])
    let stream = try await Login(server).online()
    let writes = try await stream.recordWrites()
    let lengths = [10, 12_000] + Array(repeating: 3000, count: 7) + [8000, 8000, 10]
    let stanzas = lengths.enumerated().map { number, length in
      Message(id: "\(number)", body: String(repeating: "x", count: length)).element
    }
    try await stream.send(stanzas)
    let texts = writes.all.withLock { $0 }
    #expect(texts.joined() == stanzas.map { $0.xmlString(inheriting: Namespaces.client) }.joined())
    #expect(texts.allSatisfy { $0.hasPrefix("<message") && $0.hasSuffix("</message>") })
    #expect(texts.filter { $0.utf8.count > 8192 }.count == 1)
    // Small ones share a record.
    #expect(texts.count == 8)
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test(
    "A stanza of several TLS records is followed by white space, so that expat parses its last tag at once.")
  func padding() async throws {
    let server = try await ScriptedServer(.login(until: .bound) + [.stall])
    let stream = try await Login(server).online()
    let writes = try await stream.recordWrites()
    let tag = XMLElement(
      "x", namespace: "urn:example", attributes: ["long": String(repeating: "a", count: 500)])
    var large = Message(id: "1", body: String(repeating: "x", count: 20_000)).element
    large.children.append(.element(tag))
    let small = Message(id: "2", body: "y").element
    try await stream.send([large, small])
    let texts = writes.all.withLock { $0 }
    let xml = large.xmlString(inheriting: Namespaces.client)
    let longest = tag.xmlString(inheriting: Namespaces.client).utf8.count
    #expect(
      texts == [xml + String(repeating: " ", count: longest), small.xmlString(inheriting: Namespaces.client)])
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }
}

/// Keeps each write that goes to TLS.
private final class WriteRecorder: ChannelOutboundHandler, Sendable {
  typealias OutboundIn = ByteBuffer

  let all = Mutex<[String]>([])

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let text = String(buffer: unwrapOutboundIn(data))
    all.withLock { $0.append(text) }
    context.write(data, promise: promise)
  }
}

extension XMPPStream {
  /// What is written from now on.
  fileprivate func recordWrites() throws -> WriteRecorder {
    let recorder = WriteRecorder()
    try channel?.pipeline.syncOperations.addHandler(recorder, position: .last)
    return recorder
  }
}
