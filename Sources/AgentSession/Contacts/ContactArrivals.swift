import XMPPFeatures
import XMPPStanza

/// The presences and pushes that have arrived and were not handled yet, in the order of their arrival.
///
/// Pure. They wait here until the roster is known, so that the messages behind them need not wait.
struct ContactArrivals {
  enum Arrival {
    case presence(Presence)
    /// A push of the roster or of the blocklist.
    case push(IQ)
    /// Marks the end of everything that the server sends in answer to the initial presence.
    case begun
  }

  /// Above this number of arrivals, the stream has to wait.
  static let maximum = 1000
  /// The maximum number of roster pushes stored in one transaction.
  static let maximumTogether = 250

  private var arrivals: ArraySlice<Arrival> = []

  var isFull: Bool { arrivals.count > Self.maximum }

  mutating func append(_ new: [Arrival]) { arrivals += new }

  mutating func popFirst() -> Arrival? { arrivals.popFirst() }

  /// Removes the roster pushes at the front, as many as fit into one transaction with the push that was removed before.
  mutating func popRosterPushes(own: JID) -> [Roster.Push] {
    var pushes: [Roster.Push] = []
    while pushes.count + 1 < Self.maximumTogether, case .push(let next)? = arrivals.first,
      let push = Roster.Push(next, own: own)
    {
      arrivals.removeFirst()
      pushes.append(push)
    }
    return pushes
  }

  mutating func removeAll() { arrivals = [] }
}
