import XMPPStanza

/// Finds the request an IQ answers (RFC 6120 §8.2.3).
///
/// An answer counts only when it comes from whom the request went to, and bears an id that nobody else can guess.
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

  /// The waiter of the request that `iq` answers, removed; nil when there is none or it is not the one asked.
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

  /// Who asked nobody in particular asked the own account (RFC 6120 §10.3.3): its server answers without
  /// `from`, or with the own bare or full JID; older servers put their domain.
  private static func mayAnswer(_ from: JID?, asked: JID?, own: JID) -> Bool {
    let isOwnAccount = asked == nil || asked == own.bare
    guard let from else { return isOwnAccount || asked?.description == own.domain }
    if from == asked { return true }
    return isOwnAccount && (from == own.bare || from == own || from.description == own.domain)
  }
}
