import AgentProtocol
import AgentStore
import XMPP
import XMPPClient

// The beginning of a session: it is synced when everything that the server had for the account is in the store.

extension Session {
  /// Roster, copies of messages, blocklist and presence are asked for and told in one write (RFC 6121 §2.2, §4.2;
  /// XEP-0280 §4; XEP-0191 §3.2); what the server lacks is no error.
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
    // Beside the roster: it costs no round trip. The first time it is not known whether there is anything to ask for.
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
    // Of a stream that has ended meanwhile its own event tells.
    guard await stream.stream.isOpen, stream.isCurrent else { return }
    reconnection.succeeded()
    advance(.syncOK) {
      $0.fullJID = online.bound.jid.description
      if isResumed { return }
      $0.counts = online.beginning.counts
      if !late.isEmpty { $0.late = late }
    }
    if !late.isEmpty {
      log.warning(
        "not in step yet",
        metadata: ["account": "\(account)", "parts": "\(late.map(\.rawValue).joined(separator: " "))"])
    }
    await succeed(online, late: late)
    if isResumed { await contacts.reload(online.beginning) }
    await conversations.loaded()
    await conversations.publishPending(on: stream)
    await devices.announce(on: stream, isLogin: online.lastLogin != nil)
    if !isResumed { await push.enable(on: stream) }
  }

  /// The messages that the server has stored (XEP-0160 §3) have come: they belong to its answer to the first presence.
  func offlineMessagesCame(_ beginning: SessionBeginning) async {
    await messages.queue.stored()
    beginning.end(.offline)
  }

  /// The beginning of the session of a stream; nil where that has ended.
  func beginning(of stream: BoundSession) -> SessionBeginning? { stream.isCurrent ? online?.beginning : nil }
}
