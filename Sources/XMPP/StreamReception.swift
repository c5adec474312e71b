import NIOCore
import XMPPStanza
import XMPPTransport
import XMPPXML

/// The state of a stream about received stanzas.
struct StreamReception {
  /// The number of stanzas within a few seconds that a server may not accept without acknowledgement.
  private static let overrun: UInt32 = 500
  private static let interval = TimeAmount.seconds(5)

  /// Whether a stanza was omitted from the last input of the parser.
  var hasLeftOut = false
  /// Whether messages have arrived whose handling is to be confirmed.
  var hasUnconfirmedMessages = false
  /// An earlier number of received stanzas and its time, at most ``interval`` ago.
  private var earlier = (stanzas: UInt32(0), time: NIODeadline.now())

  mutating func begin(at stanzas: UInt32, _ now: NIODeadline) { earlier = (stanzas, now) }

  mutating func note(_ stanzas: UInt32, at now: NIODeadline) {
    if now - earlier.time > Self.interval { earlier = (stanzas, now) }
  }

  /// Whether many stanzas have arrived recently.
  func isOverrun(at stanzas: UInt32) -> Bool { stanzas &- earlier.stanzas >= Self.overrun }
}

// Handles input of the channel: it goes to the negotiator until the negotiation is complete, and to the consumers
// afterwards.

extension XMPPStream {
  func encrypted(_ info: TLSInfo) {
    win()
    connection?.tls = info
    negotiate(.encrypted(info))
  }

  func received(_ buffer: ByteBuffer) {
    guard let connection else { return }
    silence.lastInput = .now()
    if case .ended = state { return receivedBehindEnd(buffer.readableBytesView) }
    if let refusal = connection.negotiator?.refusal(of: buffer.readableBytesView) { return broke(refusal) }
    let parser = connection.parser
    do {
      try buffer.withUnsafeReadableBytes { bytes in
        try parser.parse(bytes) { event in
          try received(event, behind: bytes[(bytes.count - parser.bytesAfterLastEvent)...])
        }
      }
      acknowledgeReception()
      if reception.hasLeftOut {
        // libxml2 keeps every name as long as it reads.
        reception.hasLeftOut = false
        parser.rest()
      }
      restWhenIdle()
    } catch let error as XMLStreamError {
      refuse(error)
    } catch {
      broke(XMPPError(.internalError, stage: .stream, "\(error)"))
    }
  }

  /// An idle connection has no parser, because there may be a thousand such connections.
  private func restWhenIdle() {
    guard connection != nil, silence.restDue == nil else { return }
    silence.restDue = eventLoop.scheduleTask(in: .seconds(2)) { [weak self] in
      self?.assumeIsolated {
        $0.silence.restDue = nil
        if $0.idleTime < .seconds(2) { $0.restWhenIdle() } else { $0.connection?.parser.rest() }
      }
    }
  }

  /// - Parameter behind: the bytes after the event in the same read.
  private func received(
    _ event: XMLStreamParser.Event, behind: Slice<UnsafeRawBufferPointer>
  ) throws(XMLStreamError) {
    if let log = configuration.wireLog {
      switch event {
      case .opened(let element), .element(let element), .leftOut(let element, _, _):
        log(.received, WireLog.line(element))
      case .closed: log(.received, "</stream:stream>")
      }
    }
    if case .closed = event, !Self.isWhiteSpace(behind) {
      // Input of a stream that this side has closed does not matter.
      if case .closing = state { return finish(nil) }
      throw Self.somethingBehindEnd
    }
    switch state {
    case .connecting:
      switch event {
      case .opened(var header):
        header[StreamHeader.contentNamespace] = connection?.parser.contentNamespace
        negotiate(.opened(header))
      case .element(let element): negotiate(.element(element, bytesBehind: behind.count))
      case .leftOut(_, let excess, _): throw XMLStreamError(.limitExceeded, excess)
      case .closed: negotiate(.closed)
      }
    case .beforeLogin, .online, .closing: try receivedOpen(event)
    case .idle, .ended, .closed: break
    }
  }

  private static let somethingBehindEnd = XMLStreamError(
    .badFormat, "something behind the end of the stream")

  /// The time limit for a server that has ended the stream to close the connection.
  private static let patienceAfterEnd = TimeAmount.seconds(2)

  private static func isWhiteSpace(_ bytes: some Sequence<UInt8>) -> Bool {
    bytes.allSatisfy { [0x20, 0x0A, 0x0D, 0x09].contains($0) }
  }

  /// Handles the server's end of the stream: this side ends it, too, and the server closes the connection (RFC 6120
  /// §4.4). If the server sends something else instead, the stream is broken but the session not ended.
  private func serverEnded(_ error: XMPPError) {
    state = .ended(error)
    endOutput()
    updateReading()
    deadline = eventLoop.scheduleTask(in: Self.patienceAfterEnd) { self.assumeIsolated { $0.finish(error) } }
  }

  private func receivedBehindEnd(_ bytes: ByteBufferView) {
    if !Self.isWhiteSpace(bytes) { refuse(Self.somethingBehindEnd) }
  }

  private func receivedOpen(_ event: XMLStreamParser.Event) throws(XMLStreamError) {
    switch (event, state) {
    case (.element(let element), .beforeLogin): route(StanzaRouter.route(element), .beforeLogin)
    case (.element(let element), .online(let bound)):
      if element.name.namespace == Namespaces.streamManagement { return manage(element) }
      management?.received(element)
      if element.name == XMLName("features", Namespaces.streams) { features = StreamFeatures(element) }
      route(StanzaRouter.route(element), .online, bound.jid)
    case (.leftOut(let element, let excess, let octets), .online(let bound)):
      leaveOut(element, excess, octets, bound.jid)
    case (.leftOut(_, let excess, _), .beforeLogin): throw XMLStreamError(.limitExceeded, excess)
    case (.closed, .closing): finish(nil)
    case (.closed, .beforeLogin):
      finish(XMPPError(.networkError, stage: .stream, .says(.closedByServer)))
    case (.closed, _):
      management?.end()
      serverEnded(XMPPError(.kicked, stage: .stream, .says(.closedWithoutReason)))
    case (.opened, _), (.element, _), (.leftOut, _): break
    }
  }

  /// - Parameter own: the full JID; nil before a login.
  private func route(_ route: Route, _ phase: XMPPError.Phase, _ own: JID? = nil) {
    switch route {
    case .message(let message):
      reception.hasUnconfirmedMessages = true
      report(.message(message))
    case .presence(let presence): report(.presence(presence))
    case .answer(let iq):
      if let waiter = requests.removeWaiter(answeredBy: iq, own: own ?? configuration.account) {
        waiter(.success(iq))
      } else {
        report(.answer(iq))
      }
    case .request(let iq) where configuration.requestsForProgram.contains(iq.payload[0].name):
      report(.request(iq))
    case .request(let iq):
      let responder = iq.payload.first.flatMap { configuration.responders[$0.name] }
      let answer = responder?(iq) ?? StanzaRouter.refusal(of: iq)
      let isTaken = iq.type == .set && answer.type == .result
      reply(answer.element, tells: !isTaken)
      if isTaken { report(.request(iq)) }
    case .refused(let answer): reply(answer)
    case .streamError(let error):
      // The server has lost count (XEP-0198 §6) and cannot continue this session.
      if error.condition == .undefined { management?.end() }
      // The server may read the end of a broken connection together with the start of this one.
      if management?.isUnheard == true, error.condition.isOfForm {
        return abandonSession(
          XMPPError(
            .networkError, stage: .stream, .says(.cannotGoOn, error.condition.rawValue)))
      }
      var failure = XMPPError(streamError: error, phase: phase, stage: .stream)
      if error.condition == .policyViolation, isOverrun {
        failure.code = .networkError
        failure.isOverrun = true
        management?.end()
      }
      finish(failure)
    case .ignored: break
    }
  }

  /// Answers a request unless too many answers are unacknowledged. Reading must continue, because the server sends
  /// acknowledgements after the requests that it has relayed.
  ///
  /// - Parameter tells: whether a missing answer is reported; not needed for a request that was accepted.
  private func reply(_ answer: XMLElement, tells: Bool = true) {
    if management?.hasRoomForAnswers != false { return write([answer]) }
    if tells { configuration.onUnanswered?() }
  }

  /// Handles an oversized stanza. It counts as received, or the server would resend it in every session.
  private func leaveOut(_ element: XMLElement, _ excess: String, _ octets: Int, _ own: JID) {
    reception.hasLeftOut = true
    management?.received(element)
    // The remaining part must not be mistaken for the whole stanza.
    switch StanzaRouter.route(XMLElement(name: element.name, attributes: element.attributes)) {
    case .message: reception.hasUnconfirmedMessages = true
    case .answer(let iq):
      requests.removeWaiter(answeredBy: iq, own: own)?(
        .failure(XMPPError(.protocolError, stage: .request, .says(.answerLeftOut, excess))))
    case .refused(let answer): reply(answer)
    default: break
    }
    report(.leftOut(element, excess, octets: octets))
  }

  /// Ends the stream with the matching error (RFC 6120 §4.9.3) when the input is not XML or exceeds the limits.
  private func refuse(_ error: XMLStreamError) {
    let condition: StreamError.Condition =
      switch error.code {
      case .restrictedXML: .restrictedXML
      case .limitExceeded: .policyViolation
      case .badNamespacePrefix: .badNamespacePrefix
      case .unsupportedEncoding: .unsupportedEncoding
      case .badFormat: .badFormat
      default: .notWellFormed
      }
    // The server would resend it.
    management?.end()
    endOutput(with: [StreamError(condition).element])
    var refusal = XMPPError(
      .protocolError, stage: connection?.negotiator?.stage ?? .stream,
      .says(.refusedContent, error.message))
    if case .online = state { refusal.isExcess = error.code == .limitExceeded }
    broke(refusal)
  }

  /// Handles the failure of the connection. An error of the connection belongs to the stage that it interrupts.
  func broke(_ error: XMPPError) {
    switch state {
    case .connecting:
      var error = error
      if error.code == .networkError, let negotiator = connection?.negotiator {
        error.stage = negotiator.stage
        error = negotiator.explaining(negotiator.blaming(error))
      }
      endNegotiation(.failure(error))
    case .idle, .closed: break
    case .closing: finish(nil)
    case .ended(let reason): finish(error.code == .protocolError ? error : reason)
    case .beforeLogin, .online:
      var error = error
      // The server's explanation may have been lost with the connection.
      if error.code == .networkError { error.isOverrun = isOverrun }
      finish(error)
    }
  }
}

extension StreamError.Condition {
  /// Whether the condition is about the form of the input, not about the account or its requests.
  fileprivate var isOfForm: Bool {
    [
      .badFormat, .badNamespacePrefix, .invalidNamespace, .invalidXML, .notWellFormed, .policyViolation,
      .restrictedXML, .unsupportedEncoding, .unsupportedStanzaType,
    ].contains(self)
  }
}
