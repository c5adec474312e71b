import AgentProtocol
import AgentStore
import XMPP
import XMPPClient

// The beginning of a session. It is synchronised when all of the account's data at the server is in the store.

extension Session {
  /// Requests the roster, carbons and the block list, and sends the presence, all in one write (RFC 6121 §2.2, §4.2;
  /// XEP-0280 §4; XEP-0191 §3.2). Features that the server lacks are no error.
  func synchronise(_ online: OnlineSession) async {
    let stream = online.stream
    guard stream.isCurrent else { return }
    let isResumed = stream.isResumed
    let parts = isResumed ? [] : online.parts(showing: presence.wanted)
    online.beginning.expect(parts)
    advance(.syncing) { if !isResumed { $0.parts = parts } }
    if online.login != nil, let refusal = await devices.policyRefusal(on: stream) {
      return await refuse(online, refusal)
    }
    guard stream.isCurrent else { return }
    if !isResumed {
      features.begin()
      conversations.begin()
    }
    // Conversations are requested together with the roster, without another round trip. In the first session, it is
    // unknown whether the server has them.
    let isLoading = isResumed ? false : await conversations.loadKnown(online.beginning)
    messages.recovery.begin(online.beginning)
    if isResumed {
      online.beginning.greeting.end()
      if online.plan.sendsPresence, presence.wanted != presence.shown { await presence.send() }
    } else {
      presence.beginInitial(isSent: online.plan.sendsPresence)
      Task { await contacts.load(online.beginning) }
    }
    if !isLoading { conversations.load(online.beginning) }
    let late = await online.beginning.partsCame(within: online.login?.attempt?.remaining)
    // The end of the stream has an event of its own.
    guard await stream.stream.isOpen, stream.isCurrent else { return }
    reconnection.synchronised()
    advance(.syncOK) {
      $0.fullJID = online.bound.jid.description
      if isResumed { return }
      $0.counts = online.beginning.counts
      if !late.isEmpty { $0.late = late }
    }
    if !late.isEmpty {
      log.warning(
        "not in sync yet",
        metadata: ["account": "\(account)", "parts": "\(late.map(\.rawValue).joined(separator: " "))"])
    }
    await succeed(online, late: late)
    if isResumed { await contacts.reload(online.beginning) }
    await conversations.loaded()
    await conversations.publishPending(on: stream)
    await devices.announce(on: stream, isLogin: online.lastLogin != nil)
    if !isResumed { await push.enable(on: stream) }
  }

  /// The messages that the server stored while offline (XEP-0160 §3) have arrived, which follow the first presence.
  func offlineMessagesCame(_ beginning: SessionBeginning) async {
    await messages.queue.stored()
    beginning.end(.offline)
  }

  /// The beginning of a stream's session; nil if the stream has ended.
  func beginning(of stream: BoundSession) -> SessionBeginning? { stream.isCurrent ? online?.beginning : nil }
}
