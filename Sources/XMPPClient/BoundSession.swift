import NIOConcurrencyHelpers
import NIOCore
import XMPP
import XMPPStanza
import XMPPXML

/// A session while its stream is bound: what is handed to everybody who works on it.
///
/// It ends with its stream. What is done with a session that has ended throws `notLoggedIn`, so that nobody has to ask
/// whether the stream of a moment ago is still the present one. A resumed session (XEP-0198 §5) is a new value:
/// ``isResumed`` is true then.
public final class BoundSession: Sendable {
  /// Counts the sessions of a client.
  public let number: Int
  /// What the negotiation has given.
  public let bound: BoundStream
  /// For requests of ``XMPPFeatures`` that take a stream.
  public let stream: XMPPStream
  private let ended = NIOLockedValueBox(false)

  public init(_ stream: XMPPStream, _ bound: BoundStream, number: Int = 0) {
    self.stream = stream
    self.bound = bound
    self.number = number
  }

  /// The full JID of this client.
  public var jid: JID { bound.jid }

  /// The session goes on that the stream before had: presence and subscriptions are as they were.
  public var isResumed: Bool { bound.isResumed }

  /// False from the end of the session on, at the latest when the client tells of that.
  public var isCurrent: Bool { !ended.withLockedValue { $0 } }

  /// What the server offers in this session.
  public var features: StreamFeatures? { get async { await stream.features } }

  /// As ``XMPPStream/mark(_:)``.
  public func mark(_ name: String) async { await stream.mark(name) }

  /// As ``XMPPStream/confirm(through:)``.
  public func confirm(through count: UInt32) async { await stream.confirm(through: count) }

  /// Returns when the server has shown that it is there.
  ///
  /// - Throws: as ``XMPPStream/probe(timeout:)``.
  public func probe(timeout: TimeAmount) async throws(XMPPError) {
    try check()
    try await stream.probe(timeout: timeout)
  }

  /// The session is over: nothing is done with it any more.
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
    // The session may have ended while the answer was on its way.
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

// Two values are equal where they are one session.
extension BoundSession: Hashable {
  public static func == (one: BoundSession, other: BoundSession) -> Bool { one === other }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
