import NIOCore
import XMPPStanza
import XMPPXML

// Acknowledgements in both directions, and resumption of an earlier session (XEP-0198).

extension XMPPStream {
  /// Confirms that stanzas up to this number are handled; the server is told where it asked, or when there are many.
  ///
  /// Works after the end of the stream, too: the stream that resumes the session then tells the server.
  public func confirm(through count: UInt32) {
    guard let answer = management?.confirm(through: count), case .online = state else { return }
    write([answer])
  }

  /// Requests an acknowledgement and returns when it arrives; returns false where the session is not managed.
  ///
  /// If the server has not enabled stream management yet, it is asked when it does.
  ///
  /// - Throws: `networkError` when no answer comes in time, or the error that ended the stream.
  public func requestAcknowledgement(timeout: TimeAmount) async throws(XMPPError) -> Bool {
    guard case .online = state else { throw Self.notOnline }
    guard let management else { return false }
    let id = probes.next()
    let expiry = eventLoop.scheduleTask(in: timeout) {
      self.assumeIsolated {
        $0.probes.end(id, .failure(.silentServer))
      }
    }
    let answer = await withCheckedContinuation { waiter in
      probes.add(waiter, id)
      if management.isEnabled { ask() }
    }
    expiry.cancel()
    return try answer.get()
  }

  // MARK: Start of a session

  /// Continues or abandons the session of the previous stream; returns the stanzas that the server has.
  func continueSession(
    _ login: StreamNegotiator.Login, for bound: inout BoundStream
  ) throws(StreamManagement.MiscountError) -> [SentStanza] {
    var acknowledged: [SentStanza] = []
    if var earlier = configuration.resuming {
      switch login.resumption {
      case .resumed(let element):
        (acknowledged, bound.unacknowledged) = try earlier.resumed(element)
        if !configuration.resendsMessages { bound.unacknowledged += earlier.removeMessages() }
        bound.isResumed = true
        management = earlier
        reception.begin(at: earlier.received, .now())
        return acknowledged
      case .refused(let element): (acknowledged, bound.unacknowledged) = earlier.refused(element)
      case nil: bound.unacknowledged = earlier.abandoned()
      }
    }
    if let enabled = login.inline?.first("enabled", Namespaces.streamManagement) {
      management = StreamManagement(of: bound.jid)
      management?.enabled(enabled)
    }
    return acknowledged
  }

  /// Sends the stanzas that the server lacks and requests an acknowledgement; or enables stream management where that
  /// is supported.
  func beginManaging(_ bound: BoundStream) {
    if bound.isResumed {
      let again = management?.removeUnacknowledged() ?? []
      write(again + [management?.ask()].compactMap(\.self))
    } else if management != nil {
      reportBeginning()
    } else if configuration.managesStream, bound.features.streamManagement {
      management = StreamManagement(of: bound.jid)
      write([StreamManagement.request])
    }
  }

  /// Reports that the session can be resumed from here on.
  private func reportBeginning() {
    if configuration.confirmsStanzas { report(.received(through: 0)) }
  }

  // MARK: Elements

  func manage(_ element: XMLElement) {
    guard management != nil else { return }
    switch element.name.local {
    case "r": management?.asked()
    case "a": receivedAcknowledgement(element)
    case "enabled" where management?.isEnabled == false:
      management?.enabled(element)
      reportBeginning()
      if probes.isEmpty { askAgain() } else { ask() }
    case "failed" where management?.isEnabled == false:
      management = nil
      probes.end(.success(false))
    default: break
    }
  }

  private func receivedAcknowledgement(_ element: XMLElement) {
    do {
      guard let acknowledged = try management?.acknowledged(element) else { return }
      if !acknowledged.isEmpty { report(.acknowledged(acknowledged)) }
      acknowledgementCame()
      probes.end(.success(true))
      askAgain()
    } catch {
      refuse(error)
    }
  }

  private func ask() {
    if let question = management?.ask() { write([question]) }
  }

  private func askAgain() {
    if let question = management?.question() { write([question]) }
  }

  /// Gives up a session that the server has resumed but does not continue; the next stream starts a new one.
  func abandonSession(_ error: XMPPError) {
    management?.end()
    abort(error)
  }

  /// Called at the end of a read.
  func acknowledgeReception() {
    guard case .online = state, let management else { return }
    reception.note(management.received, at: silence.lastInput)
    guard configuration.confirmsStanzas else { return confirm(through: management.received) }
    if reception.hasUnconfirmedMessages || management.isAcknowledgementDue {
      reception.hasUnconfirmedMessages = false
      report(.received(through: management.received))
    }
  }

  /// Whether the server may have tired of waiting for acknowledgements, which it does not read while it sends much at a
  /// time, for example to a user with thousands of contacts. It reports that like any other policy violation.
  var isOverrun: Bool {
    guard let management, management.isEnabled else { return false }
    return reception.isOverrun(at: management.received)
  }

  /// Ends a session whose server has counted more stanzas than were sent; it cannot be resumed (§6).
  func refuse(_ error: StreamManagement.MiscountError) {
    let miscount = XMLElement(
      "handled-count-too-high", namespace: Namespaces.streamManagement,
      attributes: ["h": String(error.count), "send-count": String(error.sent)])
    management?.end()
    endOutput(with: [StreamError(.undefined, applicationConditions: [miscount]).element])
    broke(
      XMPPError(
        .protocolError, stage: connection?.negotiator?.stage ?? .stream,
        .says(.wrongAcknowledgement, error.count, error.sent)))
  }
}
