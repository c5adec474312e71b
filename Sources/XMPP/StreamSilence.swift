import NIOCore
import XMPPStanza
import XMPPXML

/// What a stream knows of a server that says nothing, and when it looks next.
struct StreamSilence {
  /// When bytes were last received.
  var lastInput = NIODeadline.now()
  /// Since when the server owes an acknowledgement.
  var owedSince: NIODeadline?
  /// The next look whether it has come.
  var acknowledgementDue: Scheduled<Void>?
  /// The next look whether anything has come.
  var questionDue: Scheduled<Void>?
  /// The next look whether the parser may rest.
  var restDue: Scheduled<Void>?

  /// How much longer the server may be silent; nil where it owes no acknowledgement. Negative: it is late.
  func timeLeft(of patience: TimeAmount, at now: NIODeadline = .now()) -> TimeAmount? {
    owedSince.map { max($0, lastInput) + patience - now }
  }

  func cancel() {
    acknowledgementDue?.cancel()
    questionDue?.cancel()
    restDue?.cancel()
  }
}

extension XMPPStream {
  // MARK: Acknowledgements

  /// While the server owes an acknowledgement it may not be silent for long.
  func expectAcknowledgement() {
    guard case .online = state, management?.isAsking == true, silence.owedSince == nil else { return }
    silence.owedSince = .now()
    if silence.acknowledgementDue == nil { lookForAcknowledgement(in: acknowledgementPatience) }
    updateReading()
  }

  /// The server has answered a question.
  func acknowledgementCame() {
    if management?.isAsking != true { silence.owedSince = nil }
  }

  /// A server that goes on with a session and is not known to hear it is given a quarter of the time.
  private var acknowledgementPatience: TimeAmount {
    let patience = configuration.acknowledgementTimeout
    return management?.isUnheard == true ? .nanoseconds(patience.nanoseconds / 4) : patience
  }

  private func lookForAcknowledgement(in time: TimeAmount) {
    silence.acknowledgementDue = eventLoop.scheduleTask(in: time) { [weak self] in
      self?.assumeIsolated { $0.missAcknowledgement() }
    }
  }

  private func missAcknowledgement() {
    silence.acknowledgementDue = nil
    let patience = acknowledgementPatience
    guard case .online = state, let management,
      let left = silence.timeLeft(of: patience)
    else { return }
    // What is not read cannot be heard, and a slow link is no dead one: what the server has kept comes before its answer.
    guard connection?.isReading == true, left <= .zero else {
      return lookForAcknowledgement(in: left > .zero ? left : patience)
    }
    if management.isUnheard { return abandonSession(.silentServer) }
    abort(.silentServer)
  }

  // MARK: Nothing is sent, and nothing comes

  /// Asks a server that was silent for ``StreamConfiguration/keepAlive`` whether it is still there, as long as the
  /// stream is online.
  func watchSilence() {
    guard let keepAlive = configuration.keepAlive, case .online = state else { return }
    let left = keepAlive - idleTime
    if left <= .zero, connection?.isReading == true { askWhetherServerIsThere() }
    silence.questionDue = eventLoop.scheduleTask(in: left > .zero ? left : keepAlive) { [weak self] in
      self?.assumeIsolated { $0.watchSilence() }
    }
  }

  private func askWhetherServerIsThere() {
    if management?.isEnabled == true {
      if management?.isAsking == false, let question = management?.ask() { write([question]) }
    } else {
      Task {
        do throws(XMPPError) {
          _ = try await request(Self.ping, timeout: configuration.acknowledgementTimeout)
        } catch {
          // What has come instead of the answer shows as well that the server is there.
          if idleTime >= configuration.acknowledgementTimeout { abort(.silentServer) }
        }
      }
    }
  }

  /// Asks the own server (XEP-0199); that it knows no ping is an answer, too.
  private static let ping = IQ(type: .get, payload: [XMLElement("ping", namespace: "urn:xmpp:ping")])
}
