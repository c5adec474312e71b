import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPXML

// The contacts of an account: what the server says of them is stored, and told to watchers after that.

extension Session {
  /// Behind everything that the server sends at the beginning of a session.
  static let begun = "begun"

  // MARK: The beginning of a session

  /// Takes over what is stored.
  func restoreContacts() async {
    guard !contacts.isRestored else { return }
    contacts.isRestored = true
    let name = account.description
    guard
      let (version, contacts, subscribers) = try? await localStore.read({ database in
        (
          try StoredRoster.version(of: name, database), try StoredRoster.jids(of: name, database),
          try StoredRoster.subscribers(of: name, database)
        )
      })
    else { return }
    self.contacts.version = version
    self.contacts.stored = contacts.count
    self.contacts.presences.setContacts(contacts)
    audience.replace(subscribers: subscribers)
  }

  /// What goes out at the beginning of a session, in one write: the requests for roster, copies and blocklist, and the
  /// presence behind them (RFC 6121 §2.2; XEP-0191 §3.2), with which a server has much to do where the roster is long.
  ///
  /// Returns when what is answered is stored; what the server lacks is no error.
  func loadContacts(on stream: BoundSession) async {
    contacts.isCurrent = false
    contacts.presences.clear()
    contacts.requested = []
    contacts.arrivals = []
    do throws(XMPPError) {
      // A server that does not answer has no roster.
      let roster = try await askForContacts(on: stream).first
      _ = try roster?.get()
    } catch {
      // The end of the stream is an event of its own.
      if stream.isCurrent { shownPresence = nil }
    }
  }

  /// An earlier agent's session goes on: what has been told to that one may not have been stored.
  func reloadContacts(on stream: BoundSession) async {
    guard !contacts.isCurrent else { return }
    _ = try? await askForContacts(isFirst: false, on: stream)
  }

  private func askForContacts(
    isFirst: Bool = true, on stream: BoundSession
  ) async throws(XMPPError) -> [Result<IQ, XMPPError>] {
    contacts.isLoading = true
    defer { contactsLoaded() }
    let roster = Roster.request(version: await rosterVersion(on: stream))
    let requests = [roster] + (isFirst ? [Carbons.request()] : []) + [BlockList.request()]
    var stanzas = requests.map { $0.withID.element }
    // As it is by now.
    if isFirst, let shownPresence { stanzas.append(shownPresence.stanza()) }
    let greeting = online?.greeting
    let answers = try await stream.exchange(stanzas, timeout: .seconds(10)) { greeting?.end() }
    await take(roster: try? answers.first?.get(), blockList: try? answers.last?.get(), on: stream)
    return answers
  }

  /// The version to ask with; nil where the server knows none (RFC 6121 §2.6.2).
  private func rosterVersion(on stream: BoundSession) async -> String? {
    if contacts.isIncomplete { contacts.version = nil }
    // Some servers call the first roster and the one after it by this name.
    if let version = contacts.version, !version.isEmpty, version != "1" { return version }
    // After an inline bind its features may still be on their way.
    return await stream.features.map(Roster.isVersioned) == true ? "" : nil
  }

  private func take(roster answer: IQ?, blockList blocked: IQ?, on stream: BoundSession) async {
    guard stream.isCurrent else { return }
    let roster = answer.flatMap(Roster.init)
    var list = blocked.flatMap(BlockList.init)
    if let blocked { contacts.knowsBlocking = blocked.type == .result }
    let name = account.description
    let known = Set((try? await localStore.read { try StoredBlockList.load(name, $0) }) ?? [])
    let blockedCount = list?.jids.count
    if let new = list, Set(new.jids.lazy.map(\.description)) == known { list = nil }
    defer {
      // What the server does not answer is late.
      if blocked != nil { came(.blocklist, blockedCount, on: stream) }
      if let answer { came(.roster, answer.type == .result ? contacts.presences.count : nil, on: stream) }
    }
    guard roster != nil || list != nil else {
      contacts.isCurrent = answer != nil
      return
    }
    // What is known from the first time on is no news.
    let isFirst = contacts.version == nil
    let changed =
      (roster.map { $0.items.count + contacts.presences.count } ?? 0) * ContactChange.maximumEvents
    let count = isFirst ? 0 : min(changed + known.count + (list?.jids.count ?? 0), ContactEvent.maximumKept)
    let isStored = await storing(count) { [list] database in
      var events: [ContactEvent] = []
      if let roster { events += try StoredRoster.replace(with: roster, of: name, database) }
      if let list { events += try StoredBlockList.replace(with: list, of: name, database) }
      return isFirst ? [] : events
    }
    contacts.isCurrent = isStored && answer != nil
    guard let roster else { return }
    contacts.version = isStored ? roster.version ?? "" : nil
    contacts.isIncomplete = !isStored
    if isStored { contacts.stored = roster.items.count }
    contacts.presences.setContacts(roster.items.lazy.map(\.jid.bare.description))
    audience.replace(subscribers: Set(roster.items.lazy.filter(\.subscription.isFrom).map(\.jid.bare)))
  }

  /// Returns when it is known who is a contact.
  func contactsKnown() async {
    guard contacts.isLoading else { return }
    await withCheckedContinuation { contacts.waitingForRoster.append($0) }
  }

  private func contactsLoaded() {
    contacts.isLoading = false
    for waiter in contacts.waitingForRoster { waiter.resume() }
    contacts.waitingForRoster = []
  }

  // MARK: What comes

  /// Takes up what has come; while it is not known who the contacts are, it waits in a queue, so that the messages behind
  /// it do not have to.
  func received(_ arrival: ContactTraffic.Arrival) async {
    contacts.arrivals.append(arrival)
    if !contacts.isTakingArrivals {
      contacts.isTakingArrivals = true
      if contacts.isLoading { Task { await takeArrivals() } } else { await takeArrivals() }
    }
    if contacts.arrivals.count > ContactTraffic.maximumArrivals {
      await withCheckedContinuation { contacts.waitingForRoom.append($0) }
    }
  }

  /// The same of pushes that have come together.
  func received(pushes: [IQ]) async {
    guard let last = pushes.last else { return }
    contacts.arrivals += pushes.dropLast().map { .push($0) }
    await received(.push(last))
  }

  private func takeArrivals() async {
    await contactsKnown()
    while let arrival = contacts.arrivals.popFirst() {
      makeRoomForArrivals()
      await take(arrival)
    }
    contacts.isTakingArrivals = false
    // The end of a session empties the queue, and whoever waits for room in it must not wait for ever.
    makeRoomForArrivals()
  }

  private func makeRoomForArrivals() {
    for waiter in contacts.waitingForRoom { waiter.resume() }
    contacts.waitingForRoom = []
  }

  private func take(_ arrival: ContactTraffic.Arrival) async {
    switch arrival {
    case .presence(let presence): await take(presence)
    case .push(let push): await take(push: push)
    case .begun: await waitingCame()
    }
  }

  func take(_ push: BlockList.Push) async {
    let isOwn: Bool
    let count: Int
    switch push {
    case .block(let jids), .unblock(let jids):
      isOwn = jids.contains { contacts.changing[$0] != nil }
      count = jids.count
    case .unblockAll:
      isOwn = contacts.isUnblockingAll
      count = ContactEvent.maximumKept
    }
    await take(push, count: count, isOwn: isOwn)
  }

  /// Stores a change of the blocklist that the server has told, or agreed to.
  @discardableResult
  func take(_ push: BlockList.Push, count: Int, isOwn: Bool) async -> Bool {
    let name = account.description
    return await storing(count) { try StoredBlockList.apply(push, of: name, isOwn: isOwn, $0) }
  }

  /// A presence of somebody: what a contact shows is kept, and who asks to see the account's.
  private func take(_ presence: Presence) async {
    contacts.presences.take(presence)
    let own = traffic.own ?? account
    let name = account.description
    if let request = PresenceSubscription.Request(presence, own: own) {
      if contacts.requested.count < 2 * StoredRequests.maximum {
        contacts.requested.insert(request.jid.description)
      }
      await storing(1) {
        let now = Date().timeIntervalSince1970
        guard try StoredRequests.add(request, of: name, received: now, $0) else { return [] }
        var event = ContactEvent(.request, jid: request.jid.description, by: .contact, text: request.text)
        event.looksLike = try LookAlikes(of: name, $0).original(of: request.jid)
        return [event]
      }
    } else if presence.type == .subscribed {
      await check(approval: presence, own: own)
    } else if presence.type == .unsubscribe, let jid = presence.from?.bare.description {
      contacts.requested.remove(jid)
      await storing(1) {
        try StoredRequests.remove(jid, of: name, $0) ? [ContactEvent(.withdraw, jid: jid, by: .contact)] : []
      }
    }
  }

  /// An approval of somebody who was not asked means nothing (RFC 6121 §3.1.6): the server's push of the contact tells
  /// whose presence is shown.
  private func check(approval: Presence, own: JID) async {
    guard let jid = approval.from?.bare, jid != own.bare, contacts.changing[jid] == nil else { return }
    let name = account.description
    do throws(Failure) {
      let item = try await localStore.read { try Roster.Item.load(jid, of: name, $0) }
      if item?.isAsked != true, item?.subscription.isTo != true { traffic.refusals.add(.approval) }
    } catch {
      log.error(
        "contacts cannot be read", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }

  /// All open requests have come: one that is stored and was not among them was answered on another device, or withdrawn
  /// (RFC 6121 §3.1.3).
  func forgetOldRequests() async {
    let name = account.description
    let requested = contacts.requested
    // Of so many it is not known which have come.
    guard requested.count < 2 * StoredRequests.maximum,
      let kept = try? await localStore.read({ try StoredRequests.load(name, $0).map(\.jid) })
    else { return }
    let gone = kept.count { !requested.contains($0) }
    guard gone > 0 else { return }
    await storing(gone) {
      try StoredRequests.keepOnly(requested, of: name, $0).map { ContactEvent(.decline, jid: $0, by: nil) }
    }
  }

  /// Changes the store and tells what has happened, at most so many events; false where that cannot be done.
  @discardableResult
  func storing(
    _ maximumEvents: Int, _ body: @escaping @Sendable (Database) throws -> [ContactEvent]
  ) async -> Bool {
    let name = account.description
    do throws(Failure) {
      try await storeAndTell(maximumEvents) { database, cursors in
        try ContactEvent.keep(
          body(database), of: name, under: cursors, time: Date().timeIntervalSince1970, database)
      }
      return true
    } catch {
      log.error(
        "contacts are not stored", metadata: ["account": "\(account)", "failure": "\(error.message)"])
      return false
    }
  }

  /// The session has ended for good: nobody knows who is online.
  func endContacts() {
    contacts.arrivals = []
    contacts.isCurrent = false
    contacts.presences.clear()
    for wait in contacts.waits { wait.wait.end() }
  }
}
