import NIOCore
import XMPPStanza
import XMPPTransport
import XMPPXML

// Output to the server.

extension XMPPStream {
  static let notOnline = XMPPError(.notLoggedIn, stage: .request, .says(.notOnline))

  /// Writes stanzas at once; returns when the operating system has them.
  ///
  /// Answers to requests among them arrive as ``StreamEvent/answer(_:)``; ``request(_:timeout:)`` waits for its answer
  /// instead.
  ///
  /// - Throws: `notLoggedIn` when no resource is bound, `networkError` when the connection breaks.
  public func send(_ stanzas: [XMLElement]) async throws(XMPPError) {
    guard case .online = state, let channel else { throw Self.notOnline }
    let promise = channel.eventLoop.makePromise(of: Void.self)
    write(stanzas, promise)
    do {
      try await promise.futureResult.get()
    } catch {
      throw XMPPError(.networkError, stage: .stream, .says(.connectionLost, "\(error)"))
    }
  }

  func write(_ elements: [XMLElement], _ promise: EventLoopPromise<Void>? = nil) {
    write(elements.map { .element($0) }, promise)
  }

  /// Writes outputs at once, and into the wire log without their secrets.
  ///
  /// A TLS record ends with a stanza that fits into it. A record is decrypted completely or not at all, so that a
  /// broken connection appears to the server to end between stanzas. Some servers continue a resumed session (XEP-0198
  /// §5) in the middle of the last stanza of the old connection and do not understand what follows.
  func write(
    _ outputs: [StreamNegotiator.Output], closing: Bool = false, _ promise: EventLoopPromise<Void>? = nil
  ) {
    guard let channel else { return }
    var record: [UInt8] = []
    for output in outputs {
      let end = record.count
      encode(output, into: &record)
      if end > 0, record.count > TLSHandler.sharedRecordSize {
        channel.write(ByteBuffer(bytes: record[..<end]), promise: nil)
        record.removeFirst(end)
      }
      // A longer stanza reaches the server in parts.
      if record.count > TLSEngine.maximumRecord { Self.pad(&record) }
    }
    if management?.isOverfull == true { giveUpOverfull() }
    if case .online = state, let question = management?.question() { encode(question, into: &record) }
    if closing {
      record += StreamHeader.close
      configuration.wireLog?(.sent, "</stream:stream>")
    }
    expectAcknowledgement()
    channel.writeAndFlush(ByteBuffer(bytes: record), promise: promise)
  }

  /// Adds white space after a stanza that reaches the server in parts, as many bytes as the stanza's longest tag has.
  ///
  /// The parser of most servers, expat, delays a tag that arrives in parts until its input has doubled; without more
  /// input the server would not see the end of the stanza. White space between stanzas is allowed (RFC 6120 §4.6.1).
  private static func pad(_ stanza: inout [UInt8]) {
    var longest = 0
    var start: Int?
    for (place, byte) in stanza.enumerated() {
      switch byte {
      case UInt8(ascii: "<"): start = place
      case UInt8(ascii: ">"):
        if let start { longest = max(longest, place + 1 - start) }
        start = nil
      default: break
      }
    }
    stanza.append(contentsOf: repeatElement(UInt8(ascii: " "), count: longest))
  }

  private func encode(_ output: StreamNegotiator.Output, into bytes: inout [UInt8]) {
    switch output {
    case .header(let header):
      connection?.isOutputOpen = true
      StreamHeader.write(header, into: &bytes)
    case .element(let element):
      element.write(into: &bytes, inheriting: Namespaces.client)
      management?.sent(element)
    }
    if let log = configuration.wireLog { log(.sent, WireLog.line(output)) }
    if case .online = state, let question = management?.questionBetween() { encode(question, into: &bytes) }
  }

  private func encode(_ question: XMLElement, into bytes: inout [UInt8]) {
    question.write(into: &bytes, inheriting: Namespaces.client)
    configuration.wireLog?(.sent, WireLog.line(question))
  }

  private func giveUpOverfull() {
    eventLoop.execute {
      self.assumeIsolated {
        let sentence = $0.inbox.isFull ? XMPPError.Sentence.tooManyEvents : .nothingAcknowledged
        $0.abort(XMPPError(.networkError, stage: .stream, .says(sentence)))
      }
    }
  }

  /// Writes the last elements and `</stream:stream>`; does nothing where no stream is open.
  func endOutput(with elements: [XMLElement] = []) {
    guard connection?.isOutputOpen == true else { return }
    connection?.isOutputOpen = false
    write(elements.map { .element($0) }, closing: true)
  }
}
