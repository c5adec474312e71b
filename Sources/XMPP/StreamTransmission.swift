import NIOCore
import XMPPStanza
import XMPPTransport
import XMPPXML

// What goes to the server.

extension XMPPStream {
  static let notOnline = XMPPError(.notLoggedIn, stage: .request, .says(.notOnline))

  /// Writes stanzas at once; returns when they are handed to the operating system.
  ///
  /// Answers to requests among them come as ``StreamEvent/answer(_:)``; ``request(_:timeout:)`` waits for them.
  ///
  /// - Throws: `notLoggedIn` when no resource is bound, `networkError` when the connection broke.
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
  /// A TLS record ends where a stanza does, if that is not too large for one: a record is decrypted as a whole or not at
  /// all, so that the server sees a connection break between two stanzas. Some go on with a resumed session (XEP-0198 §5)
  /// in the middle of the stanza that the connection before has left, and hear nothing of what follows.
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
      // A longer stanza reaches the server in pieces.
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

  /// Adds white space after a stanza that reaches the server in pieces, as much as the stanza's longest tag has bytes.
  ///
  /// The parser of most servers is expat, which postpones a tag that it got in pieces until its input has doubled: without
  /// more input the server would not see the end of the stanza. White space between stanzas is allowed (RFC 6120 §4.6.1).
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

  /// Writes the last elements and `</stream:stream>`; nothing where no stream is open.
  func endOutput(with elements: [XMLElement] = []) {
    guard connection?.isOutputOpen == true else { return }
    connection?.isOutputOpen = false
    write(elements.map { .element($0) }, closing: true)
  }
}
