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

  /// The session is over: nothing is done with it any more.
  package func end() { ended.withLockedValue { $0 = true } }

  /// Sends stanzas with one write.
  ///
  /// - Throws: as ``XMPPStream/send(_:)``.
  public func send(_ stanzas: [XMLElement]) async throws(XMPPError) {
    try check()
    try await stream.send(stanzas)
  }

  /// Sends a request and returns its answer, an error answer included.
  ///
  /// - Throws: as ``XMPPStream/request(_:timeout:)``.
  public func request(_ request: IQ, timeout: TimeAmount = .seconds(30)) async throws(XMPPError) -> IQ {
    try check()
    let answer = try await stream.request(request, timeout: timeout)
    // The session may have ended while the answer was on its way.
    try check()
    return answer
  }

  private func check() throws(XMPPError) {
    if !isCurrent { throw XMPPError(.notLoggedIn, stage: .request, "the session has ended") }
  }
}
