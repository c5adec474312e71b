import NIOCore
import XMPPStanza
import XMPPXML

/// The state and timers for a silent server.
struct StreamSilence {
  /// The time of the last input.
  var lastInput = NIODeadline.now()
  /// The time since which the server owes an acknowledgement.
  var owedSince: NIODeadline?
  /// The next check for the acknowledgement.
  var acknowledgementDue: Scheduled<Void>?
  /// The next check for any input.
  var questionDue: Scheduled<Void>?
  /// The next check whether the parser can be released.
  var restDue: Scheduled<Void>?

  /// The remaining time of silence, negative when it is exceeded; nil where the server owes no acknowledgement.
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

  /// Starts the time limit for an acknowledgement.
  func expectAcknowledgement() {
    guard case .online = state, management?.isAsking == true, silence.owedSince == nil else { return }
    silence.owedSince = .now()
    if silence.acknowledgementDue == nil { lookForAcknowledgement(in: acknowledgementPatience) }
    updateReading()
  }

  /// Ends the time limit when the server has answered.
  func acknowledgementCame() {
    if management?.isAsking != true { silence.owedSince = nil }
  }

  /// The time limit, which is a quarter for a server that has resumed a session without a reaction since.
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
    // Paused reading and a slow link are no signs of a dead connection: buffered input arrives before the
    // acknowledgement.
    guard connection?.isReading == true, left <= .zero else {
      return lookForAcknowledgement(in: left > .zero ? left : patience)
    }
    if management.isUnheard { return abandonSession(.silentServer) }
    abort(.silentServer)
  }

  // MARK: Idle streams

  /// Asks a server that was silent for ``StreamConfiguration/keepAlive`` for a sign of life, as long as the stream is
  /// online.
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
          // Any input shows that the server is there.
          if idleTime >= configuration.acknowledgementTimeout { abort(.silentServer) }
        }
      }
    }
  }

  /// A ping to the own server (XEP-0199); an error is an answer, too.
  private static let ping = IQ(type: .get, payload: [XMLElement("ping", namespace: "urn:xmpp:ping")])
}
