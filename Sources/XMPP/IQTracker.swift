import XMPPStanza

/// Finds the request that an IQ answers (RFC 6120 §8.2.3).
///
/// An answer is accepted only from the entity that was asked, with an ID that no other entity can guess.
struct IQTracker<Waiter> {
  private struct Request {
    var to: JID?
    var waiter: Waiter
  }

  private var requests: [String: Request] = [:]

  var isEmpty: Bool { requests.isEmpty }

  func isWaiting(for id: String) -> Bool { requests[id] != nil }

  mutating func add(_ id: String, to: JID?, _ waiter: Waiter) {
    requests[id] = Request(to: to, waiter: waiter)
  }

  /// Removes the waiter of the request that `iq` answers; nil where there is none or the sender was not the one asked.
  mutating func removeWaiter(answeredBy iq: IQ, own: JID) -> Waiter? {
    guard iq.type == .result || iq.type == .error, let id = iq.id, let request = requests[id],
      Self.mayAnswer(iq.from, asked: request.to, own: own)
    else { return nil }
    return requests.removeValue(forKey: id)?.waiter
  }

  mutating func removeWaiter(_ id: String) -> Waiter? { requests.removeValue(forKey: id)?.waiter }

  mutating func removeAll() -> [Waiter] {
    defer { requests = [:] }
    return requests.values.map(\.waiter)
  }

  /// A request without `to` is for the own account (RFC 6120 §10.3.3): its server answers without `from`, or with the
  /// own bare or full JID; older servers use their domain.
  private static func mayAnswer(_ from: JID?, asked: JID?, own: JID) -> Bool {
    let isOwnAccount = asked == nil || asked == own.bare
    guard let from else { return isOwnAccount || asked?.description == own.domain }
    if from == asked { return true }
    return isOwnAccount && (from == own.bare || from == own || from.description == own.domain)
  }
}
