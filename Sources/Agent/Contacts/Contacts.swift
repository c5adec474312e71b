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
/// What the server says of them is stored, and published after that. Who is online is known in memory only, for as long as
/// the session lives.
final class Contacts {
  /// What is stored of the roster.
  private struct StoredVersion {
    /// Nil: no roster is stored; empty: it has no version.
    var version: String?
    /// How many contacts are stored.
    var count = 0
    /// Something of the roster could not be stored: no version says what is.
    var isIncomplete = false
  }

  unowned let session: Session
  let context: SessionContext
  private let presence: OwnPresence
  let features: AccountFeatures
  private var beginning: SessionBeginning?
  private var isRestored = false
  private var roster = StoredVersion()
  /// What is stored is what the server has: it has said so in this session.
  private var isCurrent = false
  private var presences = ContactPresences()
  /// Bare JIDs of those whose request has come in this session.
  private var requested: Set<String> = []
  private var arrivals = ContactArrivals()
  private var isHandlingArrivals = false
  /// Closed while too many arrivals wait.
  private let room = Gate()
  /// Closed while the roster is asked for: what comes meanwhile waits for it.
  private let loading = Gate()
  /// What commands are changing.
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

  /// What is stored is what the server has, and it says what changes.
  var isUpToDate: Bool { stream != nil && isCurrent }

  /// Who is online, where the server says what changes; else nil.
  var currentPresences: ContactPresences? { isUpToDate ? presences : nil }

  // MARK: The beginning of a session

  /// Reads what is stored, once.
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

  /// A stream is bound, and nothing has come on it yet.
  func begin(_ beginning: SessionBeginning) { self.beginning = beginning }

  /// What goes out at the beginning of a session, in one write: the requests for roster, copies and blocklist, and the
  /// presence behind them (RFC 6121 §2.2; XEP-0191 §3.2), with which a server has much to do where the roster is long.
  ///
  /// Returns when what is answered is stored; what the server lacks is no error.
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

  /// An earlier agent's session goes on: what the server has said to that one may not have been stored.
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
    // As it is by now.
    if isFirst, let shown = presence.shown { stanzas.append(shown.stanza()) }
    let greeting = beginning.greeting
    let answers = try await beginning.stream.exchange(stanzas, timeout: .seconds(10)) { greeting.end() }
    await store(roster: try? answers.first?.get(), blockList: try? answers.last?.get(), for: beginning)
    return answers
  }

  /// The version to ask with; nil where the server knows none (RFC 6121 §2.6.2).
  private func requestedVersion(on stream: BoundSession) async -> String? {
    if roster.isIncomplete { roster.version = nil }
    // Some servers call the first roster and the one after it by this name.
    if let version = roster.version, !version.isEmpty, version != "1" { return version }
    // After an inline bind its features may still be on their way.
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
      // What the server does not answer is late.
      if blocked != nil { beginning.end(.blocklist, count: blockedCount) }
      if let answer { beginning.end(.roster, count: answer.type == .result ? presences.count : nil) }
    }
    guard new != nil || list != nil else {
      isCurrent = answer != nil
      return
    }
    // What is known from the first time on is no news.
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

  /// Returns when it is known who is a contact.
  func loaded() async { await loading.pass() }

  /// The session has ended for good: nobody knows who is online.
  func end() {
    arrivals.removeAll()
    isCurrent = false
    presences.clear()
    pending.endWaits()
  }

  // MARK: What comes

  /// Handles what has come, in its order, as soon as it is known who the contacts are.
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
    // The end of a session empties the queue, and whoever waits for room in it must not wait for ever.
    room.open()
  }

  /// The stream may have ended by now: what it has acknowledged does not come again. Changes of the roster that wait behind
  /// this one are stored together with it.
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

  /// Stores changes of the roster in one transaction. More contacts than a roster may have are refused.
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

  /// Stores a change of the blocklist that the server has told, or agreed to.
  func store(_ push: BlockList.Push, count: Int, isOwn: Bool) async {
    let name = context.account.description
    await store(count) { try StoredBlockList.apply(push, of: name, isOwn: isOwn, $0) }
  }

  /// A presence of somebody: what a contact shows is remembered, and who asks to see the account's is stored.
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

  /// An approval of somebody who was not asked means nothing (RFC 6121 §3.1.6): the server's push of the contact tells
  /// whose presence is shown.
  private func check(approval: Presence) async {
    guard let jid = approval.from?.bare, jid != own.bare, !pending.contains(jid) else { return }
    let name = context.account.description
    do throws(Failure) {
      let item = try await context.localStore.read { try Roster.Item.load(jid, of: name, $0) }
      if item?.isAsked != true, item?.subscription.isTo != true { context.refusals.add(.approval) }
    } catch {
      context.log.error(
        "contacts cannot be read", metadata: ["account": "\(name)", "failure": "\(error.message)"])
    }
  }

  /// What the server sends in answer to the first presence has come: the open requests (RFC 6121 §3.1.3), and the messages
  /// that it has stored (XEP-0160 §3).
  private func initialPresenceAnswered() async {
    guard let beginning, beginning.stream.isCurrent, beginning.isExpecting(.notices) else { return }
    session.start { await $0.offlineMessagesCame(beginning) }
    await removeOldRequests()
    beginning.end(.notices, count: requested.count)
  }

  /// All open requests have come: one that is stored and was not among them was answered on another device, or withdrawn
  /// (RFC 6121 §3.1.3).
  private func removeOldRequests() async {
    let name = context.account.description
    let requested = requested
    // Of so many it is not known which have come.
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

  /// A request to see the account's presence is answered, or withdrawn: publishes `event` where it was open.
  func removeRequest(of jid: String, _ event: ContactEvent) async {
    requested.remove(jid)
    let name = context.account.description
    await store(1) { try StoredRequests.remove(jid, of: name, $0) ? [event] : [] }
  }

  /// Changes the store and publishes what has happened, at most so many events; false where that cannot be done.
  @discardableResult
  func store(
    _ maximumEvents: Int, _ body: @escaping @Sendable (Database) throws -> [ContactEvent]
  ) async -> Bool {
    let name = context.account.description
    do throws(Failure) {
      try await context.storeAndPublish(maximumEvents) { database, cursors in
        try ContactEvent.save(
          body(database), of: name, under: cursors, time: Date().timeIntervalSince1970, database)
      }
      return true
    } catch {
      context.log.error(
        "contacts are not stored", metadata: ["account": "\(name)", "failure": "\(error.message)"])
      return false
    }
  }
}
