import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// The features of the account (XEP-0030), requested once per session.
final class AccountFeatures {
  private unowned let session: Session
  private let account: JID
  /// The last answer, possibly from an earlier session; nil where the account refuses to tell.
  private(set) var last: ServiceDiscovery?
  /// Whether the features were requested in this session.
  private var isAsked = false

  init(of session: Session, _ context: SessionContext) {
    self.session = session
    account = context.account.bare
  }

  /// Called for a new session, in which nothing was requested yet.
  func begin() { isAsked = false }

  /// Records the answer; nil where the account refuses to tell.
  func answered(_ discovery: ServiceDiscovery?, on stream: BoundSession) {
    last = discovery
    failed(on: stream)
  }

  /// Records that the request failed.
  func failed(on stream: BoundSession) {
    if stream.isCurrent { isAsked = true }
  }

  /// The features of the account; nil where it does not answer.
  func current(on stream: BoundSession) async -> ServiceDiscovery? {
    if !isAsked { await session.discover(stream) }
    if isAsked { return last }
    isAsked = true
    let answer = try? await ServiceDiscovery.ask(account, on: stream)
    if stream.isCurrent { last = answer ?? last }
    return answer
  }
}
