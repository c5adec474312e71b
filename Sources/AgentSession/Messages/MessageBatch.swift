import AgentProtocol
import AgentStore
import GRDB
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// Message items of one account that are stored in one transaction.
struct MessageBatch: Sendable {
  private enum Step: Sendable {
    /// A message, the receipt that it requests, and the part of the session start to which it belongs.
    case save(StoredMessage, answer: Message?, SyncPart?)
    case acknowledge([String])
    case settle([OutboxMessage])
    case receipt(StoredReceipt)
    /// An event that is published but not stored.
    case tell(Event.Body)

    /// The maximum number of events of the step: a message that turns out to come from the outbox causes two.
    var maximumEvents: Int {
      switch self {
      case .save: 2
      case .acknowledge(let ids): 2 * ids.count
      case .settle(let messages): 2 * messages.count
      case .receipt: 3
      case .tell: 1
      }
    }
  }

  struct Outcome: Sendable {
    /// A change to publish.
    enum News: Sendable {
      /// A stored message with its cursor; a message of the outbox causes two events.
      case message(StoredMessage, cursor: Int64)
      case event(Event)
    }

    let account: String
    /// In the order of the events.
    var news: [News] = []
    /// The number of new messages that had waited at the server, by the part of the session start.
    var waited: [SyncPart: Int] = [:]
    /// The IDs of outbox messages that the server has.
    var settled: [String] = []
    /// The receipts for messages of this account.
    var receipts: [ReceiptEvent] = []
    /// The number of receipts from somebody to whom the message was not sent.
    var disbelieved = 0
    /// The receipts that the received messages request.
    fileprivate var answers: [Answer] = []

    /// A receipt whose recipient must be allowed to learn that the session is online.
    fileprivate struct Answer: Sendable {
      var receipt: Message
      /// Whether the account has written to the recipient, who therefore knows the account.
      var isForAddressee: Bool
    }

    var hasAnswers: Bool { !answers.isEmpty }

    /// The receipts that may be sent.
    ///
    /// - Parameter authorisation: decides who else may learn that the session is online, beside the addressees of sent
    ///   messages.
    func answers(for authorisation: PresenceAuthorisation? = nil) -> [XMLElement] {
      answers.filter { $0.isForAddressee || authorisation?.admits($0.receipt.to) == true }.map(
        \.receipt.element)
    }

    /// The events that publish the news.
    var events: [Event] {
      news.flatMap { news in
        switch news {
        case .message(let message, let cursor): message.events(account: account, cursor: cursor)
        case .event(let event): [event]
        }
      }
    }
  }

  private let account: String
  private let own: JID
  private var steps: [Step] = []
  /// The number of stanzas that the stream has handled.
  private(set) var handled: UInt32?
  /// Whether the data for resuming the stream has changed. Messages acknowledged since the last save need no new save,
  /// because the server acknowledges them again when the stream is resumed.
  private(set) var changesStream = false
  private(set) var hasMessages = false
  /// The number of refused items by reason.
  private(set) var refused: [Refusals.Reason: Int] = [:]
  /// The newest archive ID among the live messages.
  private(set) var newestArchiveID: String?
  /// The archive ID up to which the current page is stored.
  private(set) var readArchiveID: String?
  /// Whether messages of earlier streams are searched for in the page.
  let settles: Bool
  private let isNext: Bool

  /// - Parameters:
  /// - items: items of one stream.
  /// - isCounted: whether the server resends what the stream has not acknowledged.
  /// - archiveIDs: how far archive IDs in live messages are trusted.
  /// - reading: the archive page that is being read; results of any other page are refused.
  init(
    _ items: [MessageItem], isCounted: Bool = true, account: JID, own: JID,
    archiveIDs: ArchiveIDs, reading: inout ArchiveReading?, now: Double
  ) {
    self.account = account.description
    self.own = own.bare
    isNext = reading?.isNext == true
    settles = reading?.settles == true
    enum Arrival {
      case message(IncomingMessage, ArchiveIDs)
      case shown(PresenceChange)
    }
    var arrived: [Arrival] = []
    func flushArrived() {
      for arrival in arrived {
        switch arrival {
        case .message(let message, let ids): add(message, ids, now: now)
        case .shown(let change): steps.append(.tell(.presence(change)))
        }
      }
      arrived = []
    }
    for item in items {
      switch item {
      case .arrived(let message):
        if let incoming = IncomingMessage(message, own: own) {
          arrived.append(.message(incoming, archiveIDs))
        } else if let page = reading?.page.collect(message, own: own), page.belongs {
          guard reading?.isKept == true, let result = page.result else { break }
          guard let incoming = IncomingMessage(result, own: own) else {
            refused[.archive, default: 0] += 1
            break
          }
          if reading?.collected?.append(incoming) == nil {
            arrived.append(.message(incoming, .confirmed))
          }
        } else {
          refused[Archive.isClaimed(by: message) ? .archive : .carbon, default: 0] += 1
        }
      case .shown(let change): arrived.append(.shown(change))
      case .handled(let count):
        flushArrived()
        handled = count
        changesStream = true
      case .ended: if isCounted { arrived = [] }
      case .acknowledged(let id): acknowledge(id)
      case .sent(let messages): settle(messages)
      case .streamChanged: changesStream = true
      }
    }
    flushArrived()
  }

  /// A batch of messages that were collected from the archive, oldest first. Retractions of messages that the archive
  /// has lost come first, because the messages may include corrections of the lost ones.
  init(archived: [IncomingMessage], account: JID, own: JID, now: Double) {
    self.account = account.description
    self.own = own.bare
    isNext = false
    settles = false
    for message in archived { add(message, .confirmed, now: now) }
    let messages = steps.compactMap { if case .save(let message, _, _) = $0 { message } else { nil } }
    func retractsWhatIsGone(_ step: Step) -> Bool {
      guard case .save(let message, _, _) = step, let id = message.retracts else { return false }
      return !messages.contains { $0.isCalled(id, by: message.sender) }
    }
    steps = steps.filter(retractsWhatIsGone) + steps.filter { !retractsWhatIsGone($0) }
  }

  /// Adds the ID to the previous step, so that messages acknowledged together are stored together.
  private mutating func acknowledge(_ id: String) {
    guard case .acknowledge(var ids)? = steps.last else { return steps.append(.acknowledge([id])) }
    steps.removeLast()
    ids.append(id)
    steps.append(.acknowledge(ids))
  }

  private mutating func settle(_ sent: [OutboxMessage]) {
    guard case .settle(var messages)? = steps.last else { return steps.append(.settle(sent)) }
    steps.removeLast()
    messages += sent
    steps.append(.settle(messages))
  }

  private mutating func add(
    _ incoming: IncomingMessage, _ archiveIDs: ArchiveIDs, now: Double
  ) {
    if var message = incoming.stored(own: own, hasArchive: archiveIDs != .ignored, now: now) {
      message.isArchiveIDClaimed = archiveIDs == .claimed
      steps.append(.save(message, answer: incoming.answer, incoming.part))
      hasMessages = true
      if case .archive = incoming.source {
        if isNext { readArchiveID = message.archiveID ?? readArchiveID }
      } else {
        newestArchiveID = message.archiveID ?? newestArchiveID
      }
    }
    if let receipt = incoming.receipt(own: own, now: now) {
      steps.append(.receipt(receipt))
      hasMessages = true
    }
    if let change = incoming.chatState(own: own) { steps.append(.tell(.chatState(change))) }
  }

  var maximumEvents: Int { steps.reduce(0) { $0 + $1.maximumEvents } }

  func store(under cursors: Range<Int64>, _ database: Database) throws -> Outcome {
    var writing = Writing(account: account, own: own, next: cursors.lowerBound)
    for step in steps {
      switch step {
      case .save(let message, let answer, let part): try writing.save(message, answer, part, database)
      case .acknowledge(let ids): try writing.settle(OutboxMessage.find(ids, of: account, database), database)
      case .settle(let messages): try writing.settle(messages, database)
      case .receipt(let receipt): try writing.save(receipt, database)
      case .tell(let body): writing.tell(body)
      }
    }
    return writing.outcome
  }
}

/// Writes one batch.
private struct Writing {
  let account: String
  /// The account's bare JID.
  let own: JID
  /// The cursor of the next event.
  var next: Int64
  var outcome: MessageBatch.Outcome
  private var addressees: Addressees

  init(account: String, own: JID, next: Int64) {
    self.account = account
    self.own = own
    self.next = next
    outcome = MessageBatch.Outcome(account: account)
    addressees = Addressees(of: account)
  }

  mutating func save(
    _ arrived: StoredMessage, _ answer: Message?, _ part: SyncPart?, _ database: Database
  ) throws {
    // A copy of a message that this device has sent shows that the server has it.
    if arrived.sender == own.description, let id = arrived.originID ?? StanzaID.unique(arrived.id) {
      if try settle(id, archiveID: arrived.archiveID, database) { return }
    }
    // An error is published only as the answer to a message: an error for a receipt or a chat state means nothing to a
    // user.
    if arrived.type == .error, try !answersMessage(arrived, database) { return }
    guard let message = try checked(arrived, database), try insert(message, database) else { return }
    if let part { outcome.waited[part, default: 0] += 1 }
    guard let answer, let asker = answer.to else { return }
    let isForAddressee = try addressees.contains(asker, database)
    outcome.answers.append(.init(receipt: answer, isForAddressee: isForAddressee))
  }

  /// Whether the error carries the ID of a message that the account has sent or is going to send.
  private func answersMessage(_ error: StoredMessage, _ database: Database) throws -> Bool {
    guard let id = error.id else { return false }
    return try StoredMessage.recipient(of: id, account, own: own.description, database) != nil
      || OutboxMessage.find(id, of: account, database) != nil
  }

  /// A correction or retraction is valid only if its sender has sent the message that it names.
  private func checked(_ message: StoredMessage, _ database: Database) throws -> StoredMessage? {
    guard let id = message.replaces ?? message.retracts else { return message }
    if try StoredMessage.isKnown(id, of: message.sender, account, database) { return message }
    if message.retracts != nil {
      try message.saveUnmatched(account, database)
      return nil
    }
    // A correction of a message that its sender has retracted counts as retracted, too.
    if try message.isTakenBack(account, database) { return message }
    var message = message
    message.replaces = nil
    return message
  }

  /// Marks outbox messages as delivered to the server, unless they are gone.
  mutating func settle(_ sent: [OutboxMessage], _ database: Database) throws {
    var sent = sent[...]
    while let first = sent.first {
      let together = sent.prefix { $0.accepted == first.accepted }
      sent = sent.dropFirst(together.count)
      guard together.count > 1,
        let settlement = try Settlement(together, of: account, own: own, from: next, database)
      else {
        for message in together { try settle(message.id, database) }
        continue
      }
      outcome.settled += together.map(\.id)
      for (message, cursor) in try settlement.store(database) {
        if let to = message.to { try addressees.add(to, database) }
        outcome.news.append(.message(message, cursor: cursor))
      }
      next += settlement.cursors
    }
  }

  /// Marks an outbox message as delivered to the server; returns false where none has this ID.
  @discardableResult
  mutating func settle(_ id: String, archiveID: String? = nil, _ database: Database) throws -> Bool {
    guard let sent = try OutboxMessage.find(id, of: account, database) else { return false }
    outcome.settled.append(id)
    let message = try sent.settle(
      account, own: own.description, cursor: next, archiveID: archiveID, database)
    if let message { try tell(message, database) }
    return true
  }

  mutating func save(_ receipt: StoredReceipt, _ database: Database) throws {
    let id = receipt.receipt.id
    var recipient = try StoredMessage.recipient(of: id, account, own: own.description, database)
    if recipient == nil, let waiting = try OutboxMessage.find(id, of: account, database) {
      guard receipt.isBelievable(ofMessageTo: waiting.to) else {
        outcome.disbelieved += 1
        return
      }
      // A recipient that sends a receipt got the message from the server.
      try settle(id, database)
      recipient = waiting.to
    }
    guard recipient != nil else { return }
    guard receipt.isBelievable(ofMessageTo: recipient) else {
      outcome.disbelieved += 1
      return
    }
    if receipt.receipt.kind == .failed {
      try StoredMessage.refuse(receipt.receipt, account, own: own.description, database)
    }
    if try receipt.insert(account, own: own.description, cursor: next, database) {
      outcome.news.append(.event(receipt.event(account: account, cursor: next)))
      next += 1
    }
    outcome.receipts.append(receipt.receipt)
  }

  mutating func tell(_ body: Event.Body) {
    outcome.news.append(.event(Event(account: account, time: Timestamp.now(), cursor: next, body: body)))
    next += 1
  }

  private mutating func insert(_ message: StoredMessage, _ database: Database) throws -> Bool {
    guard let message = try message.insert(account, cursor: next, database) else { return false }
    try tell(message, database)
    return true
  }

  private mutating func tell(_ message: StoredMessage, _ database: Database) throws {
    if message.direction == .sent, let to = message.to { try addressees.add(to, database) }
    outcome.news.append(.message(message, cursor: next))
    next += message.hasReceipt ? 2 : 1
  }
}
