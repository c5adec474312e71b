import AgentProtocol
import XMPP

// The beginning of a session: it is synced when everything that the server had for the account is in the store.

extension Session {
  /// Seconds that a login waits for all of it, and the share of the time that is left to the login.
  private static let longest = (seconds: 15.0, share: 0.8)

  /// Waits until all parts are in the store: for as long as something comes, and not longer than a login may take.
  ///
  /// - Returns: the parts that are late. They go on, and their ends are told as those of the others.
  func partsCame(on stream: XMPPStream, within seconds: Double?) async -> [SyncPart] {
    let limit = min(Self.longest.seconds, (seconds ?? .infinity) * Self.longest.share)
    let end = ContinuousClock.now + .seconds(limit)
    while let online, online.stream === stream, !online.synchronisation.isOver {
      let progress = online.synchronisation.progress
      let wait = DeliveryWait(online.synchronisation.open.map(\.rawValue))
      online.partsWait = wait
      let left = (end - .now) / .seconds(1)
      if left > 0 { await wait.wait(seconds: min(left, patience.silence)) }
      online.partsWait = nil
      if left <= 0 || online.synchronisation.progress == progress { break }
    }
    guard let online, online.stream === stream else { return [] }
    return online.synchronisation.missing
  }

  /// A part is in the store; nil: the server lacks it.
  func came(_ part: SyncPart, _ count: Int?, on stream: XMPPStream) {
    guard let online, online.stream === stream, online.synchronisation.end(part, count) else { return }
    let end = SyncedPart(part: part, count: online.synchronisation.counts[part])
    hub.publish(account: account.description, .synced(end))
    online.partsWait?.done(part.rawValue)
  }

  /// What the server sends to a new presence has come: the open requests, and behind nothing else the messages that it
  /// has kept (RFC 6121 §3.1.3; XEP-0160 §3).
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
