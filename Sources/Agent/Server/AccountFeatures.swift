import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// What the account says that it can do (XEP-0030), asked once a session.
final class AccountFeatures {
  private unowned let session: Session
  private let account: JID
  /// What it has said last, be it in an earlier session.
  private(set) var last: ServiceDiscovery?
  /// It was asked in this session.
  private var isAsked = false

  init(of session: Session, _ context: SessionContext) {
    self.session = session
    account = context.account.bare
  }

  /// A new session, which has asked nothing.
  func begin() { isAsked = false }

  /// The account has answered, or could not be asked; nil: it refuses to tell.
  func answered(_ discovery: ServiceDiscovery?, on stream: BoundSession) {
    last = discovery
    failed(on: stream)
  }

  /// It could not be asked.
  func failed(on stream: BoundSession) {
    if stream.isCurrent { isAsked = true }
  }

  /// What it can do; nil where it does not answer.
  func current(on stream: BoundSession) async -> ServiceDiscovery? {
    if !isAsked { await session.discover(stream) }
    if isAsked { return last }
    isAsked = true
    let answer = try? await ServiceDiscovery.ask(account, on: stream)
    if stream.isCurrent { last = answer ?? last }
    return answer
  }
}
