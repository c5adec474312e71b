import NIOConcurrencyHelpers
import NIOCore
import XMPP
import XMPPStanza
import XMPPXML

/// A session while its stream is bound, as handlers and the program receive it.
///
/// A session ends with its stream. A call on an ended session throws `notLoggedIn`, so that callers need not check
/// whether a stream is still the current one. A resumed session (XEP-0198 §5) is a new value whose ``isResumed`` is
/// true.
public final class BoundSession: Sendable {
  /// The number of the session within its client.
  public let number: Int
  /// The result of the negotiation.
  public let bound: BoundStream
  /// The stream, for requests of ``XMPPFeatures`` that take one.
  public let stream: XMPPStream
  private let ended = NIOLockedValueBox(false)

  public init(_ stream: XMPPStream, _ bound: BoundStream, number: Int = 0) {
    self.stream = stream
    self.bound = bound
    self.number = number
  }

  /// The full JID of this client.
  public var jid: JID { bound.jid }

  /// Whether the session of the previous stream was resumed, with its presence and subscriptions.
  public var isResumed: Bool { bound.isResumed }

  /// Whether the session has not ended; false at the latest when the client reports the end.
  public var isCurrent: Bool { !ended.withLockedValue { $0 } }

  /// The features that the server offers in this session.
  public var features: StreamFeatures? { get async { await stream.features } }

  /// Does the same as ``XMPPStream/mark(_:)``.
  public func mark(_ name: String) async { await stream.mark(name) }

  /// Does the same as ``XMPPStream/confirm(through:)``.
  public func confirm(through count: UInt32) async { await stream.confirm(through: count) }

  /// Returns when the server has given a sign of life.
  ///
  /// - Throws: the errors of ``XMPPStream/probe(timeout:)``.
  public func probe(timeout: TimeAmount) async throws(XMPPError) {
    try check()
    try await stream.probe(timeout: timeout)
  }

  /// Marks the session as ended.
  package func end() { ended.withLockedValue { $0 = true } }

  private func check() throws(XMPPError) {
    if !isCurrent { throw XMPPError(.notLoggedIn, stage: .request, .says(.sessionEnded)) }
  }
}

extension BoundSession: RequestStream {
  public func send(_ stanzas: [XMLElement]) async throws(XMPPError) {
    try check()
    try await stream.send(stanzas)
  }

  public func request(_ request: IQ, timeout: TimeAmount) async throws(XMPPError) -> IQ {
    try check()
    let answer = try await stream.request(request, timeout: timeout)
    // The session may have ended while the answer was under way.
    try check()
    return answer
  }

  public func exchange(
    _ stanzas: [XMLElement], timeout: TimeAmount, written: @Sendable () -> Void
  ) async throws(XMPPError) -> [Result<IQ, XMPPError>] {
    try check()
    let answers = try await stream.exchange(stanzas, timeout: timeout, written: written)
    try check()
    return answers
  }
}

// Two values are equal if they are the same session.
extension BoundSession: Hashable {
  public static func == (one: BoundSession, other: BoundSession) -> Bool { one === other }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
