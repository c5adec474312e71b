import XMPPFeatures
import XMPPStanza

/// What has come of contacts and was not handled yet, in the order in which it came.
///
/// Pure. While it is not known who the contacts are it waits here, so that the messages behind it do not have to.
struct ContactArrivals {
  enum Arrival {
    case presence(Presence)
    /// Of the roster or of the blocklist.
    case push(IQ)
    /// The end of everything that the server sends in answer to the first presence.
    case begun
  }

  /// How many of these may wait before the stream has to.
  static let maximum = 1000
  /// Changes of the roster that are stored in one transaction.
  static let maximumTogether = 250

  private var arrivals: ArraySlice<Arrival> = []

  var isFull: Bool { arrivals.count > Self.maximum }

  mutating func append(_ new: [Arrival]) { arrivals += new }

  mutating func popFirst() -> Arrival? { arrivals.popFirst() }

  /// The changes of the roster that come next, as many as may be stored with one before them.
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
