import AgentProtocol
import GRDB
import XMPPFeatures
import XMPPStanza

/// What has happened to messages of one account since the last time: stored in one transaction.
struct MessageBatch: Sendable {
  private enum Step: Sendable {
    case keep(StoredMessage)
    case acknowledge(String)
  }

  struct Outcome: Sendable {
    /// What is new, in order.
    var events: [Event] = []
    /// Ids of messages of the outbox that the server has.
    var settled: [String] = []
  }

  private let account: String
  private let own: JID
  private var steps: [Step] = []
  /// The stream has handled its stanzas up to this one.
  private(set) var handled: UInt32?
  /// What another stream needs to go on with this one's session is not what it was.
  private(set) var changesStream = false
  private(set) var hasMessages = false
  /// The last of the account's archive among what has come live.
  private(set) var newestArchiveID: String?

  /// - Parameters:
  ///   - items: of one stream.
  ///   - reading: the page of the archive that is being read: other results are not believed.
  init(
    _ items: [MessageTraffic.Item], account: JID, own: JID, hasArchive: Bool,
    reading: inout MessageTraffic.Reading?, now: Double
  ) {
    self.account = account.description
    self.own = own.bare
    var arrived: [(StoredMessage, isLive: Bool)] = []
    func keepArrived() {
      for (message, isLive) in arrived {
        steps.append(.keep(message))
        hasMessages = true
        if isLive { newestArchiveID = message.archiveID ?? newestArchiveID }
      }
      arrived = []
    }
    for item in items {
      switch item {
      case .arrived(let message):
        if let incoming = IncomingMessage(message, own: own),
          let stored = incoming.stored(own: own, hasArchive: hasArchive, now: now)
        {
          arrived.append((stored, true))
        } else if let page = reading?.page.take(message, own: own), page.belongs, reading?.isKept == true,
          let stored = page.result.flatMap(IncomingMessage.init)?.stored(own: own, hasArchive: true, now: now)
        {
          if reading?.past == nil { arrived.append((stored, false)) } else { reading?.past?.append(stored) }
        }
      case .handled(let count):
        keepArrived()
        handled = count
        changesStream = true
      case .ended: arrived = []
      case .acknowledged(let id):
        steps.append(.acknowledge(id))
        changesStream = true
      case .streamChanged: changesStream = true
      }
    }
    keepArrived()
  }

  var maximumEvents: Int { steps.count }

  func store(under cursors: Range<Int64>, _ database: Database) throws -> Outcome {
    var outcome = Outcome()
    for (cursor, step) in zip(cursors, steps) {
      let message: StoredMessage
      switch step {
      case .keep(let arrived):
        // It may be a copy of what this device has sent: the server has it.
        if arrived.sender == own.description, let id = arrived.originID,
          let sent = try OutboxMessage.take(id, of: account, database)
        {
          outcome.settled.append(id)
          var copy = sent.stored(own: own)
          copy.archiveID = arrived.archiveID
          message = copy
        } else {
          message = arrived
        }
      case .acknowledge(let id):
        guard let sent = try OutboxMessage.take(id, of: account, database) else { continue }
        outcome.settled.append(id)
        message = sent.stored(own: own)
      }
      if try message.insert(account, cursor: cursor, database) {
        outcome.events.append(message.event(account: account, cursor: cursor))
      }
    }
    return outcome
  }
}
