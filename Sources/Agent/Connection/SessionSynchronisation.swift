import AgentProtocol
import AgentStore
import XMPP
import XMPPClient

// The beginning of a session: it is synced when everything that the server had for the account is in the store.

extension Session.Online {
  /// What a new session brings into step. The server sends what it has kept to who may receive messages
  /// (RFC 6121 §8.5.2.1.1).
  func parts(showing presence: PresenceIntent.Value) -> [SyncPart] {
    let isReceiving = plan.sendsPresence && presence.show != .offline && presence.priority >= 0
    return SyncPart.allCases.filter { isReceiving || ![.offline, .notices].contains($0) }
  }
}

extension Session {
  /// Seconds that a login waits for all of it, and the share of the time that is left to the login.
  private static let longest = (seconds: 15.0, share: 0.8)

  /// Roster, copies of messages, blocklist and presence are asked for and told in one write (RFC 6121 §2.2, §4.2;
  /// XEP-0280 §4; XEP-0191 §3.2); what the server lacks is no error.
  func synchronise(_ stream: BoundSession) async {
    guard stream.isCurrent, let online else { return }
    let isResumed = online.bound.isResumed
    let parts = isResumed ? [] : online.parts(showing: presence.effective)
    online.synchronisation = Synchronisation(parts)
    advance(.syncing) { if !isResumed { $0.parts = parts } }
    if opening?.session == stream, let refusal = await policyRefusal(on: stream) {
      guard stream.isCurrent else { return }
      endOnline(.loginFailed)
      endOpening(.failure(refusal))
      return await stream.stream.close()
    }
    guard stream.isCurrent else { return }
    if !isResumed { sharing = SharedTraffic(continuing: sharing) }
    // Beside the roster: it costs no round trip. The first time it is not known whether there is anything to ask for.
    let isShared = isResumed ? false : await wasShared()
    if isShared { sharing.loading = Task { await loadShared(on: stream, isFirst: false) } }
    settle(online.bound, on: stream)
    if isResumed {
      online.greeting.end()
      if online.plan.sendsPresence, presence.effective != shownPresence { await applyPresence() }
    } else {
      let isShown = online.plan.sendsPresence && presence.effective.show != .offline
      shownPresence = isShown ? presence.effective : nil
      Task { await loadContacts(on: stream) }
    }
    if !isShared, !sharing.isCurrent {
      sharing.loading = Task { await loadShared(on: stream, isFirst: await !wasShared()) }
    }
    let late = await partsCame(on: stream, within: opening?.attempt.remaining)
    // Of a stream that has ended meanwhile its own event tells.
    guard await stream.stream.isOpen, stream.isCurrent else { return }
    reconnectPolicy.succeeded()
    attempt = 0
    due = nil
    advance(.syncOK) {
      $0.fullJID = online.bound.jid.description
      if isResumed { return }
      $0.counts = online.synchronisation.counts
      if !late.isEmpty { $0.late = late }
    }
    if !late.isEmpty {
      log.warning(
        "not in step yet",
        metadata: ["account": "\(account)", "parts": "\(late.map(\.rawValue).joined(separator: " "))"])
    }
    if let opening, opening.session == stream { succeed(opening, late: late) }
    // A new session is an active one, and so is a resumed one (XEP-0352 §5).
    if idle == .csi { await tellClientState() }
    if isResumed { await reloadContacts(on: stream) }
    if let loading = sharing.loading { await loading.value }
    await publishPending(on: stream)
    if !isResumed || !devices.isKnown || online.lastLogin != nil { await announceDevice(on: stream) }
    if !isResumed { await enablePush(on: stream) }
  }

  /// The login is done: whoever waits for it is told, and the session is kept online from now on.
  func succeed(_ opening: Opening, late: [SyncPart] = []) {
    guard let bound = online?.bound else { return }
    let milliseconds = Int((ContinuousClock.now - opening.attempt.started) / .milliseconds(1))
    kept = online?.plan
    if let kept { pace.join(account.description, at: kept.serverName) }
    lastFailure = nil
    end = nil
    trying = nil
    var success = LoginSuccess(
      userId: bound.jid.bare.description, fullJID: bound.jid.description, milliseconds: milliseconds)
    if !late.isEmpty { success.late = late }
    endOpening(.success(success))
  }

  /// Waits until all parts are in the store: for as long as something comes, and not longer than a login may take.
  ///
  /// - Returns: the parts that are late. They go on, and their ends are told as those of the others.
  func partsCame(on stream: BoundSession, within seconds: Double?) async -> [SyncPart] {
    let limit = min(Self.longest.seconds, (seconds ?? .infinity) * Self.longest.share)
    let end = ContinuousClock.now + .seconds(limit)
    while stream.isCurrent, let online, !online.synchronisation.isOver {
      let progress = online.synchronisation.progress
      let wait = DeliveryWait(online.synchronisation.open.map(\.rawValue))
      online.partsWait = wait
      let left = (end - .now) / .seconds(1)
      if left > 0 { await wait.wait(seconds: min(left, patience.silence)) }
      online.partsWait = nil
      if left <= 0 || online.synchronisation.progress == progress { break }
    }
    guard stream.isCurrent, let online else { return [] }
    return online.synchronisation.missing
  }

  /// A part is in the store; nil: the server lacks it.
  func came(_ part: SyncPart, _ count: Int?, on stream: BoundSession) {
    guard stream.isCurrent, let online, online.synchronisation.end(part, count) else { return }
    let end = SyncedPart(part: part, count: online.synchronisation.counts[part])
    hub.publish(account: account.description, .synced(end))
    online.partsWait?.done(part.rawValue)
  }

  /// What the server sends in answer to the first presence has come: the open requests (RFC 6121 §3.1.3) and the messages
  /// that it has kept (XEP-0160 §3).
  func waitingCame() async {
    guard let online, online.synchronisation.open.contains(.notices) else { return }
    let stream = online.stream
    // Away from the stream's events, of which the store may be waiting for the next.
    Task {
      await messagesStored()
      came(.offline, self.online?.synchronisation.counts[.offline] ?? 0, on: stream)
    }
    await forgetOldRequests()
    came(.notices, contacts.requested.count, on: stream)
  }
}
