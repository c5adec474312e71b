import Testing
import XMPPClient
import XMPPSASL
import XMPPStanza
import XMPPTransport

@testable import XMPP

/// What one stream leaves for the next, without a socket.
@Suite("The succession of streams")
struct StreamSuccessionTests {
  private static func error(
    _ code: XMPPError.Code = .networkError, _ stage: XMPPError.Stage = .stream, condition: String? = nil,
    _ change: (inout XMPPError) -> Void = { _ in }
  ) -> XMPPError {
    var error = XMPPError(code, stage: stage, "a fault", condition: condition)
    change(&error)
    return error
  }

  private static func configuration() throws -> StreamConfiguration {
    var configuration = StreamConfiguration(
      account: try JID("alice@im.example"), credentials: SASLCredentials(authcid: "alice"))
    configuration.pipelining = Pipelining(startTLS: true, binding: true)
    return configuration
  }

  /// The configuration of the next attempt.
  private static func next(
    _ succession: inout StreamSuccession, at now: Double = 0, isReplacing: Bool = false
  ) throws -> StreamConfiguration {
    var configuration = try configuration()
    succession.configure(&configuration, at: now, isReplacing: isReplacing)
    return configuration
  }

  @Test(
    "The second stream skips a stanza that exceeds the limits, and no third stream is opened for that reason."
  )
  func excess() throws {
    var succession = StreamSuccession()
    let usual = try Self.next(&succession).limits.maximumExcessTokenBytes
    let excess = Self.error(.protocolError) { $0.isExcess = true }
    #expect(succession.failed(excess, at: 0) == .leavingOutExcess)
    #expect(try Self.next(&succession).limits.maximumExcessTokenBytes > usual)
    #expect(succession.failed(excess, at: 0) == nil)
  }

  @Test(
    "An overrun turns stream management off for a new session, a failed attempt or an error that the server has sent."
  )
  func overrun() throws {
    let overrun = Self.error { $0.isOverrun = true }
    var succession = StreamSuccession()
    #expect(succession.lost(overrun, at: 0) == nil)
    #expect(try Self.next(&succession).managesStream)
    #expect(succession.failed(overrun, at: 0) == .withoutAcknowledgements)
    #expect(try !Self.next(&succession).managesStream)

    succession = StreamSuccession()
    #expect(succession.lost(overrun, isNew: true, at: 0) == .withoutAcknowledgements)

    succession = StreamSuccession()
    let stated = Self.error(condition: "policy-violation") { $0.isOverrun = true }
    #expect(succession.lost(stated, at: 0) == .withoutAcknowledgements)
  }

  @Test(
    "A server that objects to pipelining is logged in to step by step.")
  func objection() throws {
    var succession = StreamSuccession()
    #expect(try Self.next(&succession).pipelining != .stepByStep)
    let objection = Self.error(.protocolError) { $0.objection = .stated }
    #expect(succession.failed(objection, at: 0) == .stepByStep)
    #expect(try Self.next(&succession).pipelining == .stepByStep)
    #expect(succession.failed(objection, at: 0) == nil)
    succession.bound()
    #expect(try Self.next(&succession).pipelining != .stepByStep)
  }

  @Test(
    "A TLS session is offered once, and no more TLS sessions are offered after a handshake has failed with one."
  )
  func sessionOfTLS() throws {
    let session = try #require(TLSSession(serialized: [1] + Array(repeating: 0, count: 60)))
    var succession = StreamSuccession()
    succession.keep(session)
    #expect(try Self.next(&succession).tlsSession == session)
    #expect(try Self.next(&succession).tlsSession == nil)
    #expect(succession.failed(Self.error(.tlsFailure, .tls), at: 0) == nil)

    succession.keep(session)
    _ = try Self.next(&succession)
    #expect(succession.failed(Self.error(.tlsFailure, .tls), at: 0) == .withoutTLSSession)
    succession.keep(session)
    #expect(try Self.next(&succession).tlsSession == nil)
    // It was for another reason.
    #expect(succession.failed(Self.error(.tlsFailure, .tls), at: 0) == nil)
    #expect(try Self.next(&succession).tlsSession == session)
    #expect(succession.failed(Self.error(.tlsFailure, .tls), at: 0) == .withoutTLSSession)
    _ = try Self.next(&succession)
    succession.bound()
    succession.keep(session)
    #expect(try Self.next(&succession).tlsSession == nil)
  }

  @Test(
    "A session is resumed until a new one has begun, and never while another session is running.")
  func resumption() throws {
    let management = try StreamManagement(of: JID("alice@im.example/here"))
    var succession = StreamSuccession()
    #expect(succession.lost(Self.error(), at: 0) == nil)
    succession.leave(management, at: 0)
    #expect(try Self.next(&succession, isReplacing: true).resuming == nil)
    #expect(try Self.next(&succession).resuming == management)
    succession.bound()
    #expect(try Self.next(&succession).resuming == nil)
  }

  @Test(
    "A session that breaks immediately after its resumption is not resumed again, but one that was in use is."
  )
  func brokenResumption() throws {
    let management = StreamManagement(
      .init(
        id: "a", jid: try JID("alice@im.example/here"), handled: 0, acknowledged: 0, location: nil,
        maximum: nil,
        unacknowledged: []))
    for isNew in [true, false] {
      var succession = StreamSuccession()
      succession.restore(management)
      #expect(try Self.next(&succession).resuming?.canResume == true)
      succession.bound()
      let remedy = succession.lost(Self.error(.protocolError), isNew: isNew, at: 0)
      #expect(remedy == (isNew ? .withNewSession : nil))
      succession.leave(management, at: 0)
      #expect(try Self.next(&succession).resuming?.canResume == !isNew)
    }
  }

  @Test(
    "A session that lost a conflict with its own abandoned attempt comes back at once, and once for each attempt."
  )
  func ownAttempt() throws {
    let conflict = Self.error(.kicked, condition: "conflict")
    var succession = StreamSuccession()
    #expect(succession.lost(conflict, at: 0) == nil)
    _ = try Self.next(&succession)
    succession.passed(.logining(.scramSHA256))
    #expect(succession.failed(Self.error(.connectTimeout, .authenticate), at: 10) == nil)
    #expect(succession.lost(conflict, at: 20) == .afterOwnAttempt)
    #expect(succession.lost(conflict, at: 21) == nil)

    _ = try Self.next(&succession)
    succession.passed(.logining(.scramSHA256))
    #expect(succession.failed(Self.error(.connectTimeout, .authenticate), at: 30) == nil)
    #expect(succession.lost(conflict, at: 61) == nil)
  }

  @Test("The next stream connects first to the host of a redirection, and the stream after it does not.")
  func otherHost() throws {
    let other = HostAddress("other.example:5222")
    var succession = StreamSuccession()
    _ = succession.lost(Self.error(condition: "see-other-host") { $0.otherHost = other }, at: 0)
    #expect(try Self.next(&succession).otherHost == other)
    #expect(try Self.next(&succession).otherHost == nil)
  }
}
