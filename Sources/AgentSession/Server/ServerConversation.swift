import AgentProtocol
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// A series of requests to the account's server with one deadline.
struct ServerConversation: Sendable {
  let stream: BoundSession
  let domain: JID
  /// The deadline of all answers.
  let end: ContinuousClock.Instant

  /// Sends a request; throws `stanzaError` where the server refuses it.
  func ask(_ question: IQ) async throws(Failure) -> IQ {
    let answer = try await answer(to: question)
    if let error = answer.error { throw Failure(error) }
    return answer
  }

  /// Sends a request and returns its answer, even if that is an error.
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
