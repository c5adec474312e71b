import AgentProtocol
import AgentStore
import XMPP
import XMPPFeatures
import XMPPStanza

/// What a session knows of its messages on their way: what has come and is not stored, what has gone and is not
/// acknowledged.
struct MessageTraffic {
  /// Something that is to be stored, in the order in which it happened.
  enum Item: Sendable {
    /// A message of the stream.
    case arrived(Message)
    /// What somebody shows, which is not stored, and told behind what has arrived before it.
    case shown(PresenceChange)
    /// What has arrived before this is made of the stream's stanzas up to this number.
    case handled(UInt32)
    /// What has arrived since the last ``handled`` comes again, where the stream counts.
    case ended
    /// The server has the message of the outbox with this id.
    case acknowledged(String)
    /// The server has these messages of the outbox.
    case sent([OutboxMessage])
    /// The stream has sent something, or got it acknowledged.
    case streamChanged

    var isArrival: Bool { if case .arrived = self { true } else { false } }
    var isShown: Bool { if case .shown = self { true } else { false } }
    /// Octets of memory that the server makes it take, about.
    var footprint: Int {
      if case .arrived(let message) = self { message.payload.reduce(0) { $0 + $1.footprint } } else { 0 }
    }
    /// It tells what is to become of the messages before it.
    var isNumber: Bool {
      switch self {
      case .handled, .ended: true
      case .arrived, .shown, .acknowledged, .sent, .streamChanged: false
      }
    }
  }

  /// What is known of the account's archive at its server.
  enum ArchiveSupport {
    case unknown
    case known(Bool)
    case asked(Task<Bool?, Never>)

    /// What an id in the name of the account is worth.
    var ids: ArchiveIDs {
      switch self {
      case .known(true): .confirmed
      case .known(false): .ignored
      case .unknown, .asked: .claimed
      }
    }
  }

  /// What an id is worth that a live message has in the name of the account's archive (XEP-0359 §5).
  enum ArchiveIDs {
    /// The server has given it.
    case confirmed
    /// The server has not said yet whether it gives such ids. The id is stored, and not told; ``Session`` deletes it from
    /// the store when the server says that there is no archive.
    case claimed
    /// There is no archive: the sender may have written it.
    case ignored
  }

  /// A page of the archive that is being read.
  struct Reading {
    var page: ArchivePage
    /// What is in it is stored; else only its end is of interest.
    var isKept: Bool
    /// It follows on what is kept: so does everything that is stored of it, also when the rest does not come.
    var isNext = false
    /// With ``isNext``: what was handed to earlier streams is looked for in it.
    var settles = false
    /// What is in it is collected here instead, oldest first.
    var collected: [IncomingMessage]?

    /// What has come of the same page is stored.
    mutating func keep(_ other: Reading) {
      guard page.id == other.page.id else { return }
      page.keep(other.page)
      collected = other.collected
    }
  }

  /// The full JID of the last stream.
  var own: JID?
  /// What waits for the disk.
  var unstored = UnstoredItems()
  /// Counts the items, so that one can wait until they are stored.
  let backlog = Backlog()
  var isStoring = false
  /// The store has failed, and is tried again after a while.
  var isStorePausing = false
  var waitingForRoom: [CheckedContinuation<Void, Never>] = []

  var archive = ArchiveSupport.unknown
  /// Everything of the archive up to what arrives now is stored.
  var isCaughtUp = false
  /// When the server is done with what it had for an earlier connection.
  var settled = ContinuousClock.now
  /// The newest message of the archive up to which all are stored; empty: there are none. nil: not known.
  var archivePosition: String?
  var reading: Reading?
  var waitingForPage: DeliveryWait?
  /// Pages that are read at a time before the newest: what is left is a gap.
  var pagesToCatchUp = 2000
  /// Pages are read one at a time.
  var isArchiveTaken = false
  var waitingForArchive: [CheckedContinuation<Void, Never>] = []

  /// What is stored of an earlier agent's streams was taken over.
  var isRestored = false
  /// Ids that a resumption of an earlier agent's stream tells about.
  var restoredIDs: Set<String>?
  /// Messages are handed to the stream: what may have to go before them has gone.
  var isOpen = false
  /// Messages on their way to the present stream and from there to the server.
  var handover = Handover()
  /// There may be messages in the outbox that are not in the ``handover``, and never were.
  var hasQueued = true
  /// They are being read from the disk.
  var isLoading = false
  /// It is known what the server has of what was handed to the streams before the present one.
  var isSettled = true
  /// That was not known when the present stream began: it counts what the one before has had, and what is in flight is older.
  var countsOthers = false
  /// Ends when the stream takes no more.
  var handingOver: Task<Void, Never>?
  /// Those that a resumed session had not counted, until they are handed over again.
  var uncounted: Set<String> = []
  /// Until when messages were handed to some stream.
  var lastHandover: ContinuousClock.Instant?
  /// Who waits for the server to have a message.
  var waits = DeliveryWaits()
  /// Who waits for its recipient to have it.
  var receiptWaits = DeliveryWaits()
  /// Messages that were sent again though the server may have had them, since the agent was started.
  var uncertain = 0

  /// The server has the message.
  mutating func finish(_ id: String) {
    handover.remove(id)
    waits.done(id)
  }

  /// The message will not be sent.
  mutating func cancel(_ id: String) {
    let failure = Failure(.cancelled, stage: .request, detail: id)
    waits.done(id, failure)
    receiptWaits.done(id, failure)
  }

  /// The recipient has told something of a message.
  mutating func take(_ receipt: ReceiptEvent) {
    receiptWaits.done(receipt.id, receipt.kind == .failed ? Failure(receipt) : nil)
  }
}
