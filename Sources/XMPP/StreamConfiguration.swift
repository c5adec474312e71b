import NIOCore
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// Everything a stream needs to know before it connects.
public struct StreamConfiguration: Sendable {
  /// Bare JID of the account.
  public var account: JID
  public var credentials: SASLCredentials
  /// Wanted resource; nil: the server makes one, or one stands for ``userAgent`` where that is left to the client.
  public var resource: String?
  /// Connects here instead of asking the DNS (RFC 6120 §3.2.3). The certificate is checked for the account's
  /// domain all the same.
  public var host: String?
  public var port: Int?
  /// nil: as SRV records say, else STARTTLS.
  public var tls: TLSMode?
  /// Tried before all others: where an earlier stream was sent to (RFC 6120 §4.9.3.19).
  public var otherHost: HostAddress?
  /// Makes every connection, and looks names up itself: there is no lookup here then, and so no SRV record.
  public var proxy: ProxyAddress?
  /// Gives the password of the proxy's user, asked anew for each connection.
  public var proxyPassword: (@Sendable () async throws(XMPPError) -> Secret)?
  /// PEM file of the authorities to trust instead of the system's.
  public var caFile: String?
  /// SHA-256 of the only certificate to accept.
  public var certificateSHA256: [UInt8]?
  /// Shown to a server that asks who comes, for EXTERNAL.
  public var clientCertificate: ClientCertificate?
  /// A TLS session to resume, if the server still knows it.
  public var tlsSession: TLSSession?
  /// Told of TLS sessions that later streams can resume; nil: none are asked for.
  public var onTLSSession: (@Sendable (TLSSession) -> Void)?
  /// Bound on connecting and negotiating together.
  public var timeout: TimeAmount
  /// `xml:lang` of the stream.
  public var language: String?
  public var pipelining: Pipelining
  /// Where the offer of ``pipelining`` comes from: another server's own is waited for. nil: it holds for every one.
  public var pipelinedTarget: ServerTarget?
  /// Which mechanisms may be used, and what is known of the server's.
  public var policy: SASLPolicy
  /// Which installation this is, where the server wants to tell devices apart (XEP-0388 §2.3).
  public var userAgent: UserAgent?
  /// Asks for a token for this device where the server gives one (XEP-0484).
  public var requestsToken = true
  /// With a refused token the stream goes on to log in with the other credentials.
  public var fallsBackFromToken = true
  public var resolver: any ServiceResolver
  /// Answers to IQ requests by the name of their payload; others are answered `service-unavailable`.
  public var responders: [XMLName: Responder]
  /// Requests with these payloads are reported (``StreamEvent/request(_:)``) and not answered: the program answers them
  /// itself, with ``XMPPStream/send(_:)``, as it must (RFC 6120 §8.2.3).
  public var requestsForProgram: Set<XMLName> = []
  /// Told of each request that gets no answer, because 1,000 stanzas wait for the server's acknowledgement (XEP-0198)
  /// already; not of what a responder has taken, as a roster push. Runs on the stream's event loop.
  public var onUnanswered: (@Sendable () -> Void)?
  /// Has the server acknowledge what is sent, and keep the session for a while when the connection breaks (XEP-0198).
  public var managesStream = true
  /// How long the server may be silent while it owes an answer: after that the connection counts as dead.
  public var acknowledgementTimeout = TimeAmount.seconds(20)
  /// How long the server may be silent until it is asked whether it is still there, by a request for acknowledgement
  /// (XEP-0198) or a ping (XEP-0199); nil: it is never asked.
  public var keepAlive: TimeAmount? = .seconds(60)
  /// Has the server send copies of what the account's other devices send and get (XEP-0280), where it can switch that
  /// on together with binding (XEP-0386).
  public var enablesCarbons = false
  /// The session of an earlier stream (``XMPPStream/management``), to go on with if the server still has it.
  public var resuming: StreamManagement?
  /// A stanza counts as handled when ``XMPPStream/confirm(through:)`` says so; else when it has come.
  public var confirmsStanzas = false
  /// Messages that the server says it has not are sent again when it goes on with a session; else they are left to the
  /// consumer (``BoundStream/unacknowledged``), who may know better.
  public var resendsMessages = true
  /// What the server may make the parser hold. A stanza with too many elements, attributes or names does not end a
  /// session, but is left out (``StreamEvent/leftOut(_:_:octets:)``); one beyond other limits is so only with
  /// ``XMLStreamParser/Limits/maximumExcessTokenBytes``.
  public var limits = XMLStreamParser.Limits()
  /// Runs between a verified authentication and the bind request: where a login replaces a running session, this
  /// is when the old one is ended.
  public var beforeBinding: (@Sendable () async -> Void)?
  /// Sees every element with its secrets replaced.
  public var wireLog: (@Sendable (WireDirection, String) -> Void)?

  /// Answers a request; nil: `service-unavailable`. Runs on the stream's event loop.
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
