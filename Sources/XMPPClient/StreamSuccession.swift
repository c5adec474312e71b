import XMPP
import XMPPStanza
import XMPPTransport

/// The data that the streams of one account leave for the next one: the session to resume (XEP-0198 §5), the host to
/// connect to, and peculiarities of the server.
///
/// Pure. A stream is configured according to the experience with earlier streams. When an attempt fails, the same
/// attempt may succeed with a change: ``failed(_:at:)`` proposes each such change once.
public struct StreamSuccession: Sendable {
  /// The difference between the next attempt and the one that has failed.
  public enum Remedy: String, Sendable, CaseIterable {
    /// Stanzas that exceed ``StreamConfiguration/limits`` are omitted, however large they are.
    case leavingOutExcess
    /// Stream management (XEP-0198) is not used, because the server ends a stream whose client acknowledges too late.
    case withoutAcknowledgements
    /// The connection is made from an address that this machine still has.
    case fromAnotherAddress
    /// The server had accepted an attempt that this client gave up, and has ended that session for the next attempt.
    case afterOwnAttempt
    /// A new session is started instead of resuming the earlier one.
    case withNewSession
    /// The TLS handshake is a full one, without an offer to resume a TLS session (RFC 8446 §2.2).
    case withoutTLSSession
    /// Nothing is sent before the server has asked for it.
    case stepByStep
  }

  /// The state of the current attempt.
  private struct Attempt {
    var isResuming = false
    var offersTLSSession = false
    var pipelines = false
    var hasBegunAuthentication = false
  }

  /// The seconds during which a server may still accept an attempt that was given up.
  static let late = 30.0
  /// The number of consecutive attempts to resume a session that may end while the server is asked.
  static let maximumFailedResumptions = 2
  /// The maximum octets of one token in an omitted stanza.
  static let maximumExcess = 1 << 20

  /// The session that the next stream tries to resume.
  public private(set) var resumable: StreamManagement?
  /// The time until which the server keeps it, by the caller's clock; nil where the server does not tell.
  private var resumableUntil: Double?
  private var failedResumptions = 0
  /// The host to which the server has redirected the last stream (RFC 6120 §4.9.3.19); the next stream tries it first.
  private var otherHost: HostAddress?
  /// The TLS session of the last connection; each one is offered once.
  private var tlsSession: TLSSession?
  /// Whether the server fails a handshake that offers to resume a TLS session, instead of making a full one.
  private var refusesTLSSessions = false
  /// Whether a handshake with such an offer has failed, so that the next attempt shows whether the offer was the
  /// reason.
  private var doubtsTLSSessions = false
  /// Whether stanzas that exceed the limits are omitted, because one of them has ended a session.
  public private(set) var leavesOutExcess = false
  private var managesStream = true
  private var isStepByStep = false
  /// The time at which an attempt without an answer from the server was given up.
  private var unanswered: Double?
  private var attempt = Attempt()
  /// Whether the session that was lost last must not be resumed.
  private var endsSession = false
  private var forgetsLocation = false

  public init() {}

  // MARK: An attempt

  /// Configures the stream of the next attempt.
  ///
  /// - Parameters:
  ///   - now: the seconds of a monotonic clock.
  ///   - isReplacing: whether the attempt replaces a session that is online, so that there is nothing to resume.
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
    // Another host does not have the session.
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

  /// Records a step of the attempt.
  public mutating func passed(_ step: LoginStep) {
    if case .logining = step { attempt.hasBegunAuthentication = true }
  }

  /// Stores a TLS session that the next connection can resume.
  public mutating func keep(_ session: TLSSession) { tlsSession = session }

  /// Records that a resource is bound, which ends the session to resume or continues it in this stream.
  public mutating func bound() {
    resumable = nil
    resumableUntil = nil
    failedResumptions = 0
    isStepByStep = false
    refusesTLSSessions = refusesTLSSessions || doubtsTLSSessions
    doubtsTLSSessions = false
  }

  /// Records that the attempt has failed or was given up before a resource was bound.
  ///
  /// - Returns: the change with which the attempt may succeed at once; nil where none is known.
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

  /// A peculiarity of the server that would end every stream until the client respects it.
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

  /// Records that a session was lost; ``leave(_:at:)`` must follow.
  ///
  /// - Parameter isNew: whether the session was not in use yet, so that the same cause would end the next one.
  /// - Returns: why the next session does not end in the same way; nil where no cure is known.
  public mutating func lost(_ error: XMPPError?, isNew: Bool = false, at now: Double) -> Remedy? {
    resumable = nil
    endsSession = false
    guard let error else { return nil }
    otherHost = error.otherHost
    forgetsLocation = error.isElsewhere
    // A connection that breaks later has probably broken by accident.
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

  /// Stores the data that the stream of a lost session has left (``XMPPStream/management``).
  public mutating func leave(_ management: StreamManagement?, at now: Double) {
    resumable = management
    resumableUntil = management?.maximum.map { now + Double($0) }
    if endsSession { resumable?.end() }
    if forgetsLocation { resumable?.forgetLocation() }
  }

  /// Sets the session of an earlier program as the one to resume.
  public mutating func restore(_ management: StreamManagement) { resumable = management }

  /// Records that the server keeps no session to resume.
  public mutating func endSession() { resumable?.end() }

  /// Forgets the sessions after this side has ended the last one.
  public mutating func forget() {
    resumable = nil
    resumableUntil = nil
    otherHost = nil
  }

  /// Whether an attempt that this client gave up has replaced the session; each such attempt ends at most one.
  private mutating func isOfOwnAttempt(_ error: XMPPError, at now: Double) -> Bool {
    guard [.kicked, .otherDeviceLogin].contains(error.code), error.condition == "conflict",
      let given = unanswered, now - given < Self.late
    else { return false }
    unanswered = nil
    return true
  }
}

extension XMPPError {
  /// Whether the attempt ended without an answer from the server, which may still have accepted it.
  fileprivate var isUnanswered: Bool {
    condition == nil && [.networkError, .connectTimeout, .cancelled].contains(code)
  }
}
