import XMPPTransport

extension XMPPError {
  /// The sentences about errors of a stream.
  public enum Sentence: String, ErrorSentence {
    case silent, loginCancelled, loginGivenUp, streamClosed, sessionEnded, connectsOnce, noLogin
    case noTLSInTime, noServer, redirectedTooOften, notOnline, connectionLost, closedByPeer
    case closedByServer, closedWithoutReason, tooManyEvents, nothingAcknowledged
    case wrongAcknowledgement, requestIDTaken, requestUnanswered, requestCancelled, answerLeftOut
    case refusedContent, cannotGoOn, endedBeforeStream, answeredWithTLS, dataBeforeTLS, tlsRefused
    case noSTARTTLS, noBinding, unexpected, notXMPP, oldXMPP, notForClients, otherDomain, noFullJID
    case loggedInNobody, loggedInOther, boundOther, unusableMechanism, tokenNotTaken
    case mechanismWithdrawn, anotherStep, streamError, loginRefused, bindRefused, requestRefused
    case attemptGivenUp, clientDisconnected

    public static let topic = "stream"

    public var english: String {
      switch self {
      case .silent: "the server does not answer any more"
      case .loginCancelled: "the login was cancelled"
      case .loginGivenUp: "the login was given up"
      case .streamClosed: "the stream was closed"
      case .sessionEnded: "the session has ended"
      case .connectsOnce: "a stream connects only once"
      case .noLogin: "no login within {1} s"
      case .noTLSInTime: "{1} did not reach TLS within {2} s"
      case .noServer: "no server for {1}"
      case .redirectedTooOften: "the server redirected the connection more than {1} times"
      case .notOnline: "the stream has no bound resource"
      case .connectionLost: "the connection was lost: {1}"
      case .closedByPeer: "the connection was closed by the other side"
      case .closedByServer: "the server closed the stream"
      case .closedWithoutReason: "the server closed the session without saying why"
      case .tooManyEvents:
        "so many events wait for the program that the server's acknowledgements are not read"
      case .nothingAcknowledged: "the server acknowledges nothing that it receives"
      case .wrongAcknowledgement: "the server acknowledges {1} stanzas, but only {2} were sent"
      case .requestIDTaken: "a request with the ID {1} still waits for its answer"
      case .requestUnanswered: "the server did not answer in time"
      case .requestCancelled: "the request was cancelled"
      case .answerLeftOut: "the answer was dropped: {1}"
      case .refusedContent: "data from the server is refused: {1}"
      case .cannotGoOn: "the server cannot go on with the session: {1}"
      case .endedBeforeStream:
        "the connection ended before the server opened a stream: its port may be for direct TLS"
      case .answeredWithTLS: "the server answers with TLS: its port is for direct TLS"
      case .dataBeforeTLS: "the server sent data between <proceed/> and the TLS handshake"
      case .tlsRefused: "the server refused to start TLS"
      case .noSTARTTLS: "the server does not offer STARTTLS"
      case .noBinding: "the server does not offer resource binding"
      case .unexpected: "the server sent <{1}/> where something else was expected"
      case .notXMPP: "the server does not speak XMPP: <{1}>"
      case .oldXMPP: "the server speaks a version of XMPP before 1.0"
      case .notForClients: "the server does not speak with clients: {1}"
      case .otherDomain: "the server speaks for {1}, not for {2}"
      case .noFullJID: "the server bound no full JID"
      case .loggedInNobody: "the server logged in no account: {1}"
      case .loggedInOther: "the server logged in {1}, not {2}"
      case .boundOther: "the server bound the JID of another account: {1}"
      case .unusableMechanism: "{1} cannot be used with this connection"
      case .tokenNotTaken: "the server no longer accepts the token"
      case .mechanismWithdrawn: "the server no longer offers {1} but continues to use it"
      case .anotherStep: "the server requires another step that imctl does not support: {1}"
      case .streamError: "the server ended the stream: {1}"
      case .loginRefused: "the server refused the login: {1}"
      case .bindRefused: "the server refused to bind a resource: {1}"
      case .requestRefused: "{1} was refused: {2}"
      case .attemptGivenUp: "the attempt was given up"
      case .clientDisconnected: "the program has disconnected the client"
      }
    }
  }
}
