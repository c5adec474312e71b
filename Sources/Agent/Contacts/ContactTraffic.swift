import AgentStore
import XMPPFeatures
import XMPPStanza

/// What a session knows of its contacts beside what is stored.
struct ContactTraffic {
  /// A change that a command waits for.
  struct Wait {
    var jid: JID
    /// Whether the contact is as it is to be; nil: it is not in the list.
    var holds: @Sendable (Roster.Item?) -> Bool
    var wait: DeliveryWait
  }

  /// What is stored was taken over.
  var isRestored = false
  /// Version of the stored roster; nil: none is stored, empty: it has no version.
  var version: String?
  /// How many contacts are stored.
  var stored = 0
  /// What is stored is what the server has: it has told so in this session.
  var isCurrent = false
  /// Something of the roster could not be stored: no version says what is.
  var isIncomplete = false
  /// Something of the stream that means little before it is known who the contacts are.
  enum Arrival: Sendable {
    case presence(Presence)
    /// Of the roster or of the blocklist.
    case push(IQ)
    /// Behind everything that the server sends at the beginning of a session.
    case begun
  }

  /// How many of these may wait before the stream has to.
  static let maximumArrivals = 1000

  /// Changes of the roster that are stored in one transaction.
  static let maximumTogether = 250

  /// What has come and was not taken up yet, in the order in which it came.
  var arrivals: ArraySlice<Arrival> = []
  var isTakingArrivals = false
  var waitingForRoom: [CheckedContinuation<Void, Never>] = []
  /// The roster was asked for, and what comes meanwhile waits for it.
  var isLoading = false
  var waitingForRoster: [CheckedContinuation<Void, Never>] = []
  var presences = ContactPresences()
  /// Bare JIDs of those whose request has come in this session.
  var requested: Set<String> = []
  /// The server knows blocking; nil: it has not said so.
  var knowsBlocking: Bool?
  /// How many commands are changing something of whom.
  var changing: [JID: Int] = [:]
  /// A command is unblocking everybody.
  var isUnblockingAll = false
  var waits: [Wait] = []
}
