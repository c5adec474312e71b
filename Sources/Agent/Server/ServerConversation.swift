import AgentProtocol
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// The account's server, while it is asked something.
struct ServerConversation: Sendable {
  let stream: BoundSession
  let domain: JID
  /// When an answer is too late.
  let end: ContinuousClock.Instant

  /// Throws `stanzaError` where the server refuses to answer.
  func ask(_ question: IQ, _ what: String) async throws(Failure) -> IQ {
    let answer = try await answer(to: question)
    if let error = answer.error { throw Failure(XMPPError(stanzaError: error, to: what)) }
    return answer
  }

  /// What is answered, be it an error.
  func answer(to question: IQ) async throws(Failure) -> IQ {
    do throws(XMPPError) {
      let left = max(1, Int64((end - .now) / .milliseconds(1)))
      return try await stream.request(question, timeout: .milliseconds(left))
    } catch {
      throw Failure(error)
    }
  }
}

extension ServerSoftware {
  init(_ version: SoftwareVersion) {
    self.init(name: version.name, version: version.version, os: version.system)
  }
}
