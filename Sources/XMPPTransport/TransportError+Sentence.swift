extension TransportError {
  /// Sentences about connections, TLS, certificates and proxies.
  public enum Sentence: String, ErrorSentence {
    case selfSigned, selfSignedInChain, unknownIssuer
    case notPinned, otherDomain, issuerNotCA, certificateExpired, certificateNotYetValid
    case certificateRefused, openSSLSetup, openSSLMemory, unusableDomain, handshakeIncomplete
    case tlsFailed, tlsNotOpen, closedInHandshake, noTLS, oldTLS, handshakeFailed, fingerprintLength
    case protocolNameLength, protocolNames, unusableCAFile, otherKey, unusableKey, noCertificate
    case unusableCertificate, readableKey, encryptedKey, noKey, unreadableCertificate, unreadableKey
    case notRegularFile, lookupCancelled, noService, noPort, tooManyFiles, endedAtOnce, failed
    case failedWith, unknownHost, lookupFailed, timedOut, answerTimedOut, attemptCancelled, broke
    case proxySyntax, proxyPassword, proxyPath, proxyUser, proxyHost, proxyTarget, proxyCredentials
    case proxyTimedOut, proxyClosed, proxyUnasked, proxyAnswerTooLong, proxyAnswered, proxyRefused
    case proxyWantsPassword, proxyTakesNoPassword, notSOCKS, notHTTPProxy, socksFailure
    case socksNotAllowed, socksNetwork, socksHost, socksRefused, socksTTL, socksCommand
    case socksAddress, socksOther

    public static let topic = "connection"

    public var english: String {
      switch self {
      case .selfSigned: "self-signed certificate"
      case .selfSignedInChain: "self-signed certificate in certificate chain"
      case .unknownIssuer: "unable to get local issuer certificate"
      case .notPinned: "it is not the pinned one"
      case .otherDomain: "it is not for this domain"
      case .issuerNotCA: "it is issued by a certificate that is not a CA certificate"
      case .certificateExpired: "certificate has expired"
      case .certificateNotYetValid: "certificate is not yet valid"
      case .certificateRefused: "The certificate of {1} is refused: {2}. {3}"
      case .openSSLSetup: "OpenSSL cannot be set up: {1}"
      case .openSSLMemory: "OpenSSL is out of memory."
      case .unusableDomain: "The domain cannot be requested with SNI: {1}"
      case .handshakeIncomplete: "The TLS handshake is not complete."
      case .tlsFailed: "TLS failed: {1}"
      case .tlsNotOpen: "The TLS connection is not open."
      case .closedInHandshake: "The server closed the connection during the TLS handshake."
      case .noTLS:
        "The TLS handshake failed: the server does not answer with TLS; its port may be for STARTTLS."
      case .oldTLS: "The TLS handshake failed: the server supports no current TLS version ({1})."
      case .handshakeFailed: "The TLS handshake failed: {1}."
      case .fingerprintLength: "A SHA-256 digest has 32 octets; the pinned one has {1}."
      case .protocolNameLength: "An ALPN protocol name has 1 to 255 octets."
      case .protocolNames: "The ALPN protocol names cannot be used."
      case .unusableCAFile: "No certificate can be read from the CA file {1}: {2}"
      case .otherKey: "The key in {1} does not belong to the client certificate in {2}."
      case .unusableKey: "The key of the client certificate in {1} cannot be used: {2}."
      case .noCertificate: "The file {1} contains no certificate in PEM form."
      case .unusableCertificate: "The client certificate in {1} cannot be used: {2}."
      case .readableKey:
        "Others can read the file {1} with the key of the client certificate: run chmod 600 on it."
      case .encryptedKey: "The key of the client certificate in {1} is encrypted."
      case .noKey: "The file {1} contains no private key in PEM form."
      case .unreadableCertificate: "The file {1} with the client certificate cannot be read: {2}."
      case .unreadableKey: "The file {1} with the key of the client certificate cannot be read: {2}."
      case .notRegularFile: "not a regular file"
      case .lookupCancelled: "The lookup of {1} was cancelled."
      case .noService: "The domain {1} says that it has no XMPP service."
      case .noPort: "There is no port {1}."
      case .tooManyFiles: "Too many files are open to connect to {1}."
      case .endedAtOnce: "The connection to {1} ended immediately."
      case .failed: "The connection to {1} failed."
      case .failedWith: "The connection to {1} failed: {2}."
      case .unknownHost: "There is no host named {1}."
      case .lookupFailed: "The host {1} cannot be looked up: {2}."
      case .timedOut: "No answer from {1} in time."
      case .answerTimedOut: "{1} did not answer in time."
      case .attemptCancelled: "The attempt to connect to {1} was cancelled."
      case .broke: "The connection broke: {1}."
      case .proxySyntax: "a proxy is socks5h://host:port or http://host:port"
      case .proxyPassword: "a URL must not contain a password: use --proxy-password-command"
      case .proxyPath: "nothing may follow the host and port of a proxy"
      case .proxyUser: "the proxy's user name cannot be used"
      case .proxyHost: "the proxy's host or port cannot be used"
      case .proxyTarget: "A proxy cannot be asked for the host {1}."
      case .proxyCredentials: "user and password for a SOCKS5 proxy have at most 255 octets each"
      case .proxyTimedOut: "no answer from the proxy {1} in time"
      case .proxyClosed: "the proxy {1} closed the connection"
      case .proxyUnasked: "the proxy {1} sent unrequested data"
      case .proxyAnswerTooLong: "the answer of the proxy {1} is too long"
      case .proxyAnswered: "the proxy {1} answered: {2}"
      case .proxyRefused: "the proxy {1} refused user and password"
      case .proxyWantsPassword: "the proxy {1} requires a user and a password"
      case .proxyTakesNoPassword: "the proxy {1} does not accept a user and a password"
      case .notSOCKS: "the proxy {1} does not speak SOCKS5"
      case .notHTTPProxy: "the proxy {1} does not speak HTTP"
      case .socksFailure: "general failure"
      case .socksNotAllowed: "not allowed"
      case .socksNetwork: "network unreachable"
      case .socksHost: "host unreachable"
      case .socksRefused: "connection refused"
      case .socksTTL: "TTL expired"
      case .socksCommand: "command not supported"
      case .socksAddress: "address type not supported"
      case .socksOther: "error {1}"
      }
    }
  }
}
