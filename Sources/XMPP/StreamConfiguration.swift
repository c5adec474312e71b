import NIOCore
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// The configuration of a stream.
public struct StreamConfiguration: Sendable {
  /// Bare JID of the account.
  public var account: JID
  public var credentials: SASLCredentials
  /// The wanted resource; nil lets the server choose, or derives one from ``userAgent`` where the server leaves it to
  /// the client.
  public var resource: String?
  /// The host to connect to instead of the one in the DNS (RFC 6120 §3.2.3). The certificate is still checked for the
  /// account's domain.
  public var host: String?
  public var port: Int?
  /// The TLS mode; nil for that of the SRV records, or STARTTLS without them.
  public var tls: TLSMode?
  /// The host to try first, to which an earlier stream was redirected (RFC 6120 §4.9.3.19).
  public var otherHost: HostAddress?
  /// The proxy for every connection. It resolves the names itself, so that no SRV records are used.
  public var proxy: ProxyAddress?
  /// Returns the password of the proxy's user; called for each connection.
  public var proxyPassword: (@Sendable () async throws(XMPPError) -> Secret)?
  /// A PEM file of certificate authorities to trust instead of the system's.
  public var caFile: String?
  /// The SHA-256 fingerprint of the only certificate to accept.
  public var certificateSHA256: [UInt8]?
  /// The certificate for servers that request one, for EXTERNAL.
  public var clientCertificate: ClientCertificate?
  /// A TLS session to resume, if the server still has it.
  public var tlsSession: TLSSession?
  /// Called with TLS sessions that later streams can resume; nil to request none.
  public var onTLSSession: (@Sendable (TLSSession) -> Void)?
  /// The time limit for connecting and negotiating together.
  public var timeout: TimeAmount
  /// The `xml:lang` of the stream.
  public var language: String?
  public var pipelining: Pipelining
  /// The target for which the offer of ``pipelining`` is valid; nil for every target.
  public var pipelinedTarget: ServerTarget?
  /// The mechanisms that may be used, and what is known of the server's.
  public var policy: SASLPolicy
  /// The identity of the installation, for servers that distinguish devices (XEP-0388 §2.3).
  public var userAgent: UserAgent?
  /// Whether to request a token for this device where the server issues them (XEP-0484).
  public var requestsToken = true
  /// Whether the stream logs in with the other credentials after a refused token.
  public var fallsBackFromToken = true
  public var resolver: any ServiceResolver
  /// The responders to IQ requests, by the name of their payload; other requests get `service-unavailable`.
  public var responders: [XMLName: Responder]
  /// The payloads of requests that are reported (``StreamEvent/request(_:)``) instead of answered: the program must
  /// answer them itself (RFC 6120 §8.2.3) with ``XMPPStream/send(_:)``.
  public var requestsForProgram: Set<XMLName> = []
  /// Called for each request that gets no answer because 1,000 stanzas wait for the server's acknowledgement
  /// (XEP-0198); not for requests that a responder has accepted, such as roster pushes. Runs on the stream's event
  /// loop.
  public var onUnanswered: (@Sendable () -> Void)?
  /// Whether stanzas are acknowledged and the session can be resumed after the connection breaks (XEP-0198).
  public var managesStream = true
  /// How long the server may be silent while it owes an answer, before the connection counts as dead.
  public var acknowledgementTimeout = TimeAmount.seconds(20)
  /// How long the server may be silent before it is asked for a sign of life, by a request for acknowledgement
  /// (XEP-0198) or a ping (XEP-0199); nil for no limit.
  public var keepAlive: TimeAmount? = .seconds(60)
  /// Whether to enable copies of messages of the account's other devices (XEP-0280), where that is possible together
  /// with binding (XEP-0386).
  public var enablesCarbons = false
  /// The session of an earlier stream (``XMPPStream/management``) to resume.
  public var resuming: StreamManagement?
  /// Whether a stanza counts as handled only after ``XMPPStream/confirm(through:)``; otherwise on arrival.
  public var confirmsStanzas = false
  /// Whether messages that the server lacks are sent again when a session is resumed; otherwise they are left to the
  /// consumer (``BoundStream/unacknowledged``).
  public var resendsMessages = true
  /// The limits of the parser. A stanza with too many elements, attributes or names is omitted
  /// (``StreamEvent/leftOut(_:_:octets:)``) without ending the session; one that exceeds another limit only with
  /// ``XMLStreamParser/Limits/maximumExcessTokenBytes``.
  public var limits = XMLStreamParser.Limits()
  /// Runs between a verified authentication and the bind request: where a login replaces a running session, this is the
  /// time to end the old one.
  public var beforeBinding: (@Sendable () async -> Void)?
  /// Called with every element, in which secrets are replaced.
  public var wireLog: (@Sendable (WireDirection, String) -> Void)?

  /// Answers a request; nil for `service-unavailable`. Runs on the stream's event loop.
  public typealias Responder = @Sendable (IQ) -> IQ?

  public init(account: JID, credentials: SASLCredentials, resource: String? = nil) {
    self.account = account.bare
    self.credentials = credentials
    self.resource = resource ?? account.resource
    timeout = .seconds(30)
    pipelining = .stepByStep
    policy = SASLPolicy()
    resolver = SRVResolver()
    responders = [:]
  }
}
