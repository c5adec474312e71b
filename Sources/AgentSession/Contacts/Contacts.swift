import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import NIOConcurrencyHelpers
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// The contacts of an account: its roster, its blocklist, and the requests to see its presence.
///
/// Changes are stored first and published afterwards. Presences of contacts are kept in memory only, for the life of
/// the session.
package final class Contacts {
  /// The state of the stored roster.
  private struct StoredVersion {
    /// The version of the stored roster; empty where the server gave none, nil where no roster is stored.
    var version: String?
    /// The number of stored contacts.
    var count = 0
    /// Whether a part of the roster could not be stored, so that no version describes the stored roster.
    var isIncomplete = false
  }

  unowned let session: Session
  let context: SessionContext
  private let presence: OwnPresence
  let features: AccountFeatures
  private var beginning: SessionBeginning?
  private var isRestored = false
  private var roster = StoredVersion()
  /// Whether the server has confirmed in this session that the stored roster is current.
  private var isCurrent = false
  private var presences = ContactPresences()
  /// The bare JIDs whose subscription requests have arrived in this session.
  private var requested: Set<String> = []
  private var arrivals = ContactArrivals()
  private var isHandlingArrivals = false
  /// Closed while too many arrivals wait.
  private let room = Gate()
  /// Closed while a roster request is open; arrivals wait for its end.
  private let loading = Gate()
  /// The changes that commands are making.
  let pending = PendingContactChanges()

  init(of session: Session, _ context: SessionContext, _ presence: OwnPresence, _ features: AccountFeatures) {
    self.session = session
    self.context = context
    self.presence = presence
    self.features = features
  }

  /// The full JID of the last stream.
  private var own: JID { beginning?.stream.jid ?? context.account }

  /// The bound stream; nil while there is none.
  var stream: BoundSession? { beginning.flatMap { $0.stream.isCurrent ? $0.stream : nil } }

  /// Whether the stored roster is current and the server reports its changes.
  var isUpToDate: Bool { stream != nil && isCurrent }

  /// The presences of contacts while the server reports changes; otherwise nil.
  var currentPresences: ContactPresences? { isUpToDate ? presences : nil }

  // MARK: Start of a session

  /// Reads the stored roster, once.
  func restore() async {
    guard !isRestored else { return }
    isRestored = true
    let name = context.account.description
    guard
      let (version, contacts, subscribers) = try? await context.localStore.read({ database in
        (
          try StoredRoster.version(of: name, database), try StoredRoster.jids(of: name, database),
          try StoredRoster.subscribers(of: name, database)
        )
      })
    else { return }
    roster.version = version
    roster.count = contacts.count
    presences.setContacts(contacts)
    presence.authorisation.replace(subscribers: subscribers)
  }

  /// Called when a stream is bound, before any stanza is handled.
  func begin(_ beginning: SessionBeginning) { self.beginning = beginning }

  /// Sends the requests for roster, carbons and blocklist and then the initial presence, in one write (RFC 6121 §2.2;
  /// XEP-0191 §3.2). A server takes long to answer the presence of a user with a long roster.
  ///
  /// Returns when the answers are stored. A feature that the server lacks is not an error.
  func load(_ beginning: SessionBeginning) async {
    isCurrent = false
    presences.clear()
    requested = []
    arrivals.removeAll()
    do throws(XMPPError) {
      // A server that does not answer has no roster.
      _ = try await request(for: beginning).first?.get()
    } catch {
      // The end of the stream is an event of its own.
      if beginning.stream.isCurrent { presence.forgetShown() }
    }
  }

  /// Requests the roster again when the session of an earlier agent was resumed, because that agent may not have stored
  /// everything.
  func reload(_ beginning: SessionBeginning) async {
    guard !isCurrent else { return }
    _ = try? await request(for: beginning, isFirst: false)
  }

  private func request(
    for beginning: SessionBeginning, isFirst: Bool = true
  ) async throws(XMPPError) -> [Result<IQ, XMPPError>] {
    loading.close()
    defer { loading.open() }
    let roster = Roster.request(version: await requestedVersion(on: beginning.stream))
    let requests = [roster] + (isFirst ? [Carbons.request()] : []) + [BlockList.request()]
    var stanzas = requests.map { $0.withID.element }
    // Read only now, because the presence may have changed while this function waited.
    if isFirst, let shown = presence.shown { stanzas.append(shown.stanza()) }
    let greeting = beginning.greeting
    let answers = try await beginning.stream.exchange(stanzas, timeout: .seconds(10)) { greeting.end() }
    await store(roster: try? answers.first?.get(), blockList: try? answers.last?.get(), for: beginning)
    return answers
  }

  /// The roster version to send with the request; nil where the server does not support versions (RFC 6121 §2.6.2).
  private func requestedVersion(on stream: BoundSession) async -> String? {
    if roster.isIncomplete { roster.version = nil }
    // Some servers give the first roster and the one after it the version "1".
    if let version = roster.version, !version.isEmpty, version != "1" { return version }
    // After an inline bind, the stream features may still be on their way.
    return await stream.features.map(Roster.isVersioned) == true ? "" : nil
  }

  private func store(roster answer: IQ?, blockList blocked: IQ?, for beginning: SessionBeginning) async {
    guard beginning.stream.isCurrent else { return }
    let new = answer.flatMap(Roster.init)
    var list = blocked.flatMap(BlockList.init)
    let name = context.account.description
    let known = Set((try? await context.localStore.read { try StoredBlockList.load(name, $0) }) ?? [])
    let blockedCount = list?.jids.count
    if let some = list, Set(some.jids.lazy.map(\.description)) == known { list = nil }
    defer {
      // The end of a part that the server did not answer is not reported: its answer may still come.
      if blocked != nil { beginning.end(.blocklist, count: blockedCount) }
      if let answer { beginning.end(.roster, count: answer.type == .result ? presences.count : nil) }
    }
    guard new != nil || list != nil else {
      isCurrent = answer != nil
      return
    }
    // Contacts that are known from the first roster on are not news.
    let isFirst = roster.version == nil
    let changed = (new.map { $0.items.count + presences.count } ?? 0) * ContactChange.maximumEvents
    let count = isFirst ? 0 : min(changed + known.count + (list?.jids.count ?? 0), ContactEvent.maximumKept)
    let isStored = await store(count) { [list] database in
      var events: [ContactEvent] = []
      if let new { events += try StoredRoster.replace(with: new, of: name, database) }
      if let list { events += try StoredBlockList.replace(with: list, of: name, database) }
      return isFirst ? [] : events
    }
    isCurrent = isStored && answer != nil
    guard let new else { return }
    roster.version = isStored ? new.version ?? "" : nil
    roster.isIncomplete = !isStored
    if isStored { roster.count = new.items.count }
    presences.setContacts(new.items.lazy.map(\.jid.bare.description))
    presence.authorisation.replace(
      subscribers: Set(new.items.lazy.filter(\.subscription.isFrom).map(\.jid.bare)))
  }

  /// Returns when the roster is known.
  func loaded() async { await loading.pass() }

  /// Called when the session has ended for good; the presences of contacts are unknown from now on.
  func end() {
    arrivals.removeAll()
    isCurrent = false
    presences.clear()
    pending.endWaits()
  }

  // MARK: Incoming stanzas

  /// Handles the arrivals in their order, as soon as the roster is known.
  func receive(_ new: [ContactArrivals.Arrival]) async {
    if new.isEmpty { return }
    arrivals.append(new)
    if !isHandlingArrivals {
      isHandlingArrivals = true
      if loading.isClosed {
        session.start { await $0.contacts.handleArrivals() }
      } else {
        await handleArrivals()
      }
    }
    if arrivals.isFull {
      room.close()
      await room.pass()
    }
  }

  private func handleArrivals() async {
    await loaded()
    while let arrival = arrivals.popFirst() {
      room.open()
      switch arrival {
      case .presence(let presence): await store(presence)
      case .push(let push): await store(push)
      case .begun: await initialPresenceAnswered()
      }
    }
    isHandlingArrivals = false
    // The end of a session empties the queue, so callers that wait for room must be released.
    room.open()
  }

  /// Stores a push even if the stream has ended meanwhile, because the server does not send acknowledged stanzas again.
  /// Roster pushes queued behind it are stored in the same transaction.
  private func store(_ push: IQ) async {
    if let push = Roster.Push(push, own: own) {
      await store([push] + arrivals.popRosterPushes(own: own))
    } else if let push = BlockList.Push(push, own: own) {
      let count =
        switch push {
        case .block(let jids), .unblock(let jids): jids.count
        case .unblockAll: ContactEvent.maximumKept
        }
      await store(push, count: count, isOwn: pending.contains(push))
    }
  }

  /// Stores roster pushes in one transaction. Contacts beyond the maximum size of a roster are refused.
  private func store(_ pushes: [Roster.Push]) async {
    let name = context.account.description
    let changes = pushes.map { (push: $0, isOwn: pending.contains($0.jid)) }
    let box = NIOLockedValueBox(PushOutcome())
    let before = roster
    let isStored = await store(changes.count * ContactChange.maximumEvents) { database in
      let (outcome, events) = try PushOutcome.store(
        changes, of: name, count: before.count, isIncomplete: before.isIncomplete, database)
      box.withLockedValue { $0 = outcome }
      return events
    }
    let outcome = isStored ? box.withLockedValue { $0 } : PushOutcome(accepted: pushes)
    roster.count += outcome.added
    let refused = pushes.count - outcome.accepted.count
    if refused > 0 { context.refusals.add(.push, refused) }
    if !isStored || refused > 0 { roster.isIncomplete = true }
    roster.version = isStored ? (roster.isIncomplete ? nil : outcome.accepted.last?.version) ?? "" : nil
    for push in outcome.accepted {
      let bare = push.jid.bare.description
      if push.item == nil { presences.remove(bare) } else { presences.add(bare) }
      presence.authorisation.change(push.jid, isSubscriber: push.item?.subscription.isFrom == true)
      pending.stored(push.jid, push.item)
    }
  }

  /// Stores a change of the blocklist that the server has pushed or agreed to.
  func store(_ push: BlockList.Push, count: Int, isOwn: Bool) async {
    let name = context.account.description
    await store(count) { try StoredBlockList.apply(push, of: name, isOwn: isOwn, $0) }
  }

  /// Handles a presence: remembers the presence of a contact, and stores a subscription request.
  private func store(_ presence: Presence) async {
    presences.update(with: presence)
    let name = context.account.description
    if let request = PresenceSubscription.Request(presence, own: own) {
      if requested.count < 2 * StoredRequests.maximum { requested.insert(request.jid.description) }
      await store(1) {
        let now = Date().timeIntervalSince1970
        guard try StoredRequests.add(request, of: name, received: now, $0) else { return [] }
        var event = ContactEvent(.request, jid: request.jid.description, by: .contact, text: request.text)
        event.looksLike = try LookAlikes(of: name, $0).original(of: request.jid)
        return [event]
      }
    } else if presence.type == .subscribed {
      await check(approval: presence)
    } else if presence.type == .unsubscribe, let jid = presence.from?.bare.description {
      await removeRequest(of: jid, ContactEvent(.withdraw, jid: jid, by: .contact))
    }
  }

  /// Counts an approval that was not asked for (RFC 6121 §3.1.6). It has no other effect: the server's roster push
  /// tells whose presence is visible.
  private func check(approval: Presence) async {
    guard let jid = approval.from?.bare, jid != own.bare, !pending.contains(jid) else { return }
    let name = context.account.description
    do throws(Failure) {
      let item = try await context.localStore.read { try Roster.Item.load(jid, of: name, $0) }
      if item?.isAsked != true, item?.subscription.isTo != true { context.refusals.add(.approval) }
    } catch {
      context.report("the contacts cannot be read", error)
    }
  }

  /// Called when the server has sent its answers to the initial presence: the open subscription requests (RFC 6121
  /// §3.1.3) and the offline messages (XEP-0160 §3).
  private func initialPresenceAnswered() async {
    guard let beginning, beginning.stream.isCurrent, beginning.isExpecting(.notices) else { return }
    session.start { await $0.offlineMessagesCame(beginning) }
    await removeOldRequests()
    beginning.end(.notices, count: requested.count)
  }

  /// Removes stored requests that the server did not send again: another device answered them, or they were withdrawn
  /// (RFC 6121 §3.1.3).
  private func removeOldRequests() async {
    let name = context.account.description
    let requested = requested
    // With so many requests, the record of arrived requests may be incomplete.
    guard requested.count < 2 * StoredRequests.maximum,
      let stored = try? await context.localStore.read({ try StoredRequests.load(name, $0).map(\.jid) })
    else { return }
    let gone = stored.count { !requested.contains($0) }
    guard gone > 0 else { return }
    await store(gone) {
      try StoredRequests.removeAll(except: requested, of: name, $0).map {
        ContactEvent(.decline, jid: $0, by: nil)
      }
    }
  }

  // MARK: The store

  /// Removes a request that was answered or withdrawn; publishes `event` if the request was open.
  func removeRequest(of jid: String, _ event: ContactEvent) async {
    requested.remove(jid)
    let name = context.account.description
    await store(1) { try StoredRequests.remove(jid, of: name, $0) ? [event] : [] }
  }

  /// Changes the store and publishes at most `count` events; returns false where the store failed.
  @discardableResult
  func store(
    _ maximumEvents: Int, _ body: @escaping @Sendable (Database) throws -> [ContactEvent]
  ) async -> Bool {
    let name = context.account.description
    return await context.storeAndPublish("contacts are not stored", maximumEvents) { database, cursors in
      try ContactEvent.save(
        body(database), of: name, under: cursors, time: Date().timeIntervalSince1970, database)
    }
  }
}
