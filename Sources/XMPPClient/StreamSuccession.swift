import XMPP
import XMPPStanza
import XMPPTransport

/// What the streams of one account leave for the next one: the session to resume (XEP-0198 §5), where to connect, and
/// which peculiarities of the server to respect.
///
/// Pure. A stream is configured by what the streams before it have shown. When an attempt fails, the same attempt made
/// in another way may succeed: ``failed(_:at:)`` names that way, and each way is proposed once.
public struct StreamSuccession: Sendable {
  /// How the next attempt differs from the one that has just failed.
  public enum Remedy: String, Sendable, CaseIterable {
    /// Stanzas that exceed ``StreamConfiguration/limits`` are left out, however large they are.
    case leavingOutExcess
    /// The server manages no stream (XEP-0198): it ends one whose client acknowledges too late.
    case withoutAcknowledgements
    /// The connection is made from an address that this machine still has.
    case fromAnotherAddress
    /// The server had taken up an attempt that this client has given up, and ended it for the next one.
    case afterOwnAttempt
    /// A new session is begun instead of resuming the earlier one.
    case withNewSession
    /// The TLS handshake is a full one, without an offer to resume a TLS session (RFC 8446 §2.2).
    case withoutTLSSession
    /// Nothing is sent before the server has asked for it.
    case stepByStep
  }

  /// What is known of the attempt that is being made.
  private struct Attempt {
    var isResuming = false
    var offersTLSSession = false
    var pipelines = false
    var hasBegunAuthentication = false
  }

  /// Seconds for which a server may still take up an attempt that was given up.
  static let late = 30.0
  /// Attempts in a row that may end while the server is asked to resume a session.
  static let maximumFailedResumptions = 2
  /// Octets of one token in a stanza that is left out.
  static let maximumExcess = 1 << 20

  /// The session that the next stream resumes, if the server still has it.
  public private(set) var resumable: StreamManagement?
  /// Until when the server keeps it, by the caller's clock; nil: the server does not say.
  private var resumableUntil: Double?
  private var failedResumptions = 0
  /// Where the server has sent the last stream to (RFC 6120 §4.9.3.19): the next one connects there first.
  private var otherHost: HostAddress?
  /// Of the last connection: each TLS session is offered once.
  private var tlsSession: TLSSession?
  /// The server fails a handshake that offers to resume a TLS session, instead of making it a full one.
  private var refusesTLSSessions = false
  /// A handshake with such an offer has failed, and the next attempt shows whether it was for that.
  private var doubtsTLSSessions = false
  /// Stanzas that exceed the limits are left out, since one of them has ended a session.
  public private(set) var leavesOutExcess = false
  private var managesStream = true
  private var isStepByStep = false
  /// When an attempt was given up that the server had not answered.
  private var unanswered: Double?
  private var attempt = Attempt()
  /// What becomes of the session that was lost last.
  private var endsSession = false
  private var forgetsLocation = false

  public init() {}

  // MARK: An attempt

  /// Configures the stream of the next attempt.
  ///
  /// - Parameters:
  ///   - now: seconds of a clock that is never set back.
  ///   - isReplacing: another session is online, which the new one is to replace: there is nothing to resume.
  public mutating func configure(
    _ configuration: inout StreamConfiguration, at now: Double, isReplacing: Bool = false
  ) {
    attempt = Attempt()
    configuration.otherHost = otherHost
    otherHost = nil
    if !isReplacing { resume(&configuration, at: now) }
    if !managesStream { configuration.managesStream = false }
    if leavesOutExcess { configuration.limits.maximumExcessTokenBytes = Self.maximumExcess }
    if isStepByStep { configuration.pipelining = .stepByStep }
    attempt.pipelines = configuration.pipelining != .stepByStep
    guard !refusesTLSSessions, !doubtsTLSSessions else {
      configuration.tlsSession = nil
      configuration.onTLSSession = nil
      return
    }
    // Another host does not know the session.
    guard configuration.otherHost == nil else { return }
    configuration.tlsSession = tlsSession ?? configuration.tlsSession
    tlsSession = nil
    attempt.offersTLSSession = configuration.tlsSession != nil
  }

  private mutating func resume(_ configuration: inout StreamConfiguration, at now: Double) {
    let isLate = resumableUntil.map { $0 < now } ?? false
    let isOtherResource = configuration.resource.map { $0 != resumable?.jid.resource } ?? false
    if isLate || isOtherResource { resumable?.end() }
    configuration.resuming = resumable ?? configuration.resuming
    attempt.isResuming = configuration.resuming?.canResume == true
  }

  /// The attempt has come to a step.
  public mutating func passed(_ step: LoginStep) {
    if case .logining = step { attempt.hasBegunAuthentication = true }
  }

  /// The server has given a TLS session that the next connection can resume.
  public mutating func keep(_ session: TLSSession) { tlsSession = session }

  /// A resource is bound: the session that was to be resumed goes on in this stream, or is over.
  public mutating func bound() {
    resumable = nil
    resumableUntil = nil
    failedResumptions = 0
    isStepByStep = false
    refusesTLSSessions = refusesTLSSessions || doubtsTLSSessions
    doubtsTLSSessions = false
  }

  /// The attempt has failed before a resource was bound, or was given up.
  ///
  /// - Returns: how the same attempt may succeed at once; nil where nothing of that kind is known.
  public mutating func failed(_ error: XMPPError, at now: Double) -> Remedy? {
    let attempt = attempt
    self.attempt = Attempt()
    doubtsTLSSessions = false
    if error.isElsewhere { resumable?.forgetLocation() }
    if let remedy = peculiarity(of: error) { return remedy }
    if isOfOwnAttempt(error, at: now) { return .afterOwnAttempt }
    if attempt.hasBegunAuthentication, error.isUnanswered { unanswered = now }
    if attempt.isResuming, let remedy = refusedResumption(error) { return remedy }
    if error.code == .tlsFailure, attempt.offersTLSSession {
      doubtsTLSSessions = true
      return .withoutTLSSession
    }
    if error.objection == .stated, attempt.pipelines {
      isStepByStep = true
      return .stepByStep
    }
    return nil
  }

  private mutating func refusedResumption(_ error: XMPPError) -> Remedy? {
    if error.stage == .bind {
      failedResumptions += 1
      if failedResumptions > Self.maximumFailedResumptions { resumable?.end() }
    }
    guard error.code == .protocolError, !error.isElsewhere else { return nil }
    resumable?.end()
    return .withNewSession
  }

  /// What ends one stream after the other, until the client respects it.
  private mutating func peculiarity(of error: XMPPError) -> Remedy? {
    if error.isExcess, !leavesOutExcess {
      leavesOutExcess = true
      return .leavingOutExcess
    }
    if error.isOverrun, managesStream {
      managesStream = false
      return .withoutAcknowledgements
    }
    return nil
  }

  // MARK: The end of a session

  /// A session has ended without this side's doing; ``leave(_:at:)`` follows.
  ///
  /// - Parameter isNew: the session was not in use yet: what has ended it so soon ends the next one, too.
  /// - Returns: why the next session does not end in the same way; nil where nothing is known of that.
  public mutating func lost(_ error: XMPPError?, isNew: Bool = false, at now: Double) -> Remedy? {
    resumable = nil
    endsSession = false
    guard let error else { return nil }
    otherHost = error.otherHost
    forgetsLocation = error.isElsewhere
    // A connection that breaks later is taken to have broken by itself.
    if isNew || error.isExcess || error.condition != nil, let remedy = peculiarity(of: error) {
      return remedy
    }
    if isNew, attempt.isResuming, error.code == .protocolError {
      endsSession = true
      return .withNewSession
    }
    guard isOfOwnAttempt(error, at: now) else { return nil }
    endsSession = true
    return .afterOwnAttempt
  }

  /// The stream of a session that was lost has left this (``XMPPStream/management``).
  public mutating func leave(_ management: StreamManagement?, at now: Double) {
    resumable = management
    resumableUntil = management?.maximum.map { now + Double($0) }
    if endsSession { resumable?.end() }
    if forgetsLocation { resumable?.forgetLocation() }
  }

  /// The session of an earlier program goes on.
  public mutating func restore(_ management: StreamManagement) { resumable = management }

  /// The server keeps nothing that could be resumed.
  public mutating func endSession() { resumable?.end() }

  /// Nothing is left of the sessions: this side has ended the last one.
  public mutating func forget() {
    resumable = nil
    resumableUntil = nil
    otherHost = nil
  }

  /// Whether a session gave way to an attempt of this client that was given up: such an attempt ends one at most.
  private mutating func isOfOwnAttempt(_ error: XMPPError, at now: Double) -> Bool {
    guard [.kicked, .otherDeviceLogin].contains(error.code), error.condition == "conflict",
      let given = unanswered, now - given < Self.late
    else { return false }
    unanswered = nil
    return true
  }
}

extension XMPPError {
  /// The attempt has ended without a word of the server, which may still have taken it up.
  fileprivate var isUnanswered: Bool {
    condition == nil && [.networkError, .connectTimeout, .cancelled].contains(code)
  }
}
