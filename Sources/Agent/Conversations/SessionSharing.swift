import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// What the devices of the account have in common: private nodes of the account are read at the beginning of a session,
// and each change of them is told after that.

/// What a session knows of that.
struct SharedTraffic {
  /// The account was asked what it can do.
  var isAsked = false
  /// The nodes are being read, or were.
  var loading: Task<Void, Never>?
  /// What is stored is what the nodes hold.
  var isCurrent = false
  /// Items are read and published again: one after the other.
  var isPublishing = false
  var waitingToPublish: [CheckedContinuation<Void, Never>] = []
  /// The server was silent: it is asked whether it answers again.
  var isAsking = false

  init() {}

  /// Of a new session, which has read nothing; who publishes goes on.
  init(continuing other: SharedTraffic) {
    isPublishing = other.isPublishing
    waitingToPublish = other.waitingToPublish
  }
}

extension Session {
  /// Bound of each request at the beginning of a session.
  private static let patience = TimeAmount.seconds(10)
  private static let sharedParts: [SyncPart] = [.groups, .conversations, .markers]
  /// How many events one item may cause.
  private static let eventsPerItem = 4

  /// The id by which the account's other devices know this one.
  var deviceID: String? { (online?.plan ?? kept)?.deviceId }

  /// What the own account says it can do; nil where it does not answer.
  func accountDiscovery(on stream: BoundSession) async -> ServiceDiscovery? {
    if !sharing.isAsked { await discover(stream) }
    if sharing.isAsked { return accountDiscovery }
    sharing.isAsked = true
    let answer = try? await ServiceDiscovery.ask(account.bare, on: stream)
    if stream.isCurrent { accountDiscovery = answer ?? accountDiscovery }
    return answer
  }

  // MARK: The beginning of a session

  /// Whether the nodes are worth asking for before it is known what the account can do.
  func wasShared() async -> Bool {
    let name = account.description
    let isKnown = try? await localStore.read { database in
      try Row.fetchOne(database, sql: "SELECT 1 FROM sharing WHERE account = ?", arguments: [name]) != nil
    }
    return isKnown == true
  }

  /// Reads the nodes; what the server lacks is no error. Only the first time it is asked before what the account can do:
  /// that question is to be behind the presence.
  func loadShared(on stream: BoundSession, isFirst: Bool) async {
    if isFirst {
      guard let account = await accountDiscovery(on: stream), PrivateNode.isOffered(in: account) else {
        for part in Self.sharedParts { came(part, nil, on: stream) }
        return
      }
    }
    async let bookmarks = bookmarks(on: stream)
    async let conversations = try? ConversationSettings.node.items(on: stream, timeout: Self.patience)
    async let markers = try? DisplayedMarker.node.items(on: stream, timeout: Self.patience)
    let rooms = await bookmarks
    if let rooms { await take(rooms, isNews: !isFirst) }
    came(.groups, rooms?.count, on: stream)
    let settings = await conversations
    if let settings { await take(conversations: settings, isNews: !isFirst) }
    came(.conversations, settings?.count, on: stream)
    let displayed = await markers
    if let displayed { await take(markers: displayed, isNews: !isFirst) }
    came(.markers, displayed?.count, on: stream)
    guard stream.isCurrent else { return }
    sharing.isCurrent = true
    let name = account.description
    _ = try? await localStore.change { database in
      try database.execute(sql: "INSERT OR IGNORE INTO sharing (account) VALUES (?)", arguments: [name])
    }
  }

  /// All bookmarks. Not every server keeps the old kinds in step with the new one, which wins (XEP-0402 §6).
  private func bookmarks(on stream: BoundSession) async -> [Bookmark]? {
    async let items = try? Bookmark.node.items(on: stream, timeout: Self.patience)
    async let answer = try? stream.request(Bookmark.privateStorageRequest(), timeout: Self.patience)
    async let oldItems = try? Bookmark.oldNode.items(on: stream, timeout: Self.patience)
    let old = await answer.map(Bookmark.privateStorage) ?? []
    let older = (await oldItems ?? []).flatMap { Bookmark.old($0.payload) }
    guard let bookmarks = await items?.compactMap(Bookmark.init) else { return nil }
    var known = Set(bookmarks.map(\.jid))
    return bookmarks + (old + older).filter { known.insert($0.jid).inserted }
  }

  /// Returns when it is done, or after a while: what has not come by then comes later.
  func bounded(_ loading: Task<Void, Never>) async {
    let wait = DeliveryWait(["loading"])
    Task {
      await loading.value
      wait.end()
    }
    await wait.wait(seconds: 5)
  }

  // MARK: What comes

  /// A change of a node of the own account.
  func take(_ event: PubSub.Event) async {
    for change in event.changes {
      switch (event.node, change) {
      case (ConversationSettings.node.name, .published(let item)): await take(conversations: [item])
      case (ConversationSettings.node.name, .retracted(let id)):
        await take(conversations: [PubSub.Item(id)])
      case (DisplayedMarker.node.name, .published(let item)): await take(markers: [item])
      case (Bookmark.node.name, .published(let item)): await take(bookmark: item)
      case (Bookmark.node.name, .retracted(let id)): await remove(bookmark: id)
      case (AccountEvent.node.name, .published(let item)): await take(accountEvent: item)
      default: break
      }
    }
  }

  private func actor(_ device: String?) -> String {
    guard let device else { return ConversationEvent.otherDevice }
    return device == deviceID ? ConversationEvent.own : device
  }

  private func take(conversations items: [PubSub.Item], isNews: Bool = true) async {
    let name = account.description
    let changes = items.compactMap { item -> (jid: String, item: PubSub.Item, by: String)? in
      guard let jid = try? JID(item.id).description else { return nil }
      return (jid, item, actor(ConversationSettings.device(in: item.payload)))
    }
    await storingConversations(isNews ? changes.count * Self.eventsPerItem : 0) { database in
      try changes.flatMap { change in
        var settings = ConversationSettings(change.item.payload)
        return try StoredConversation.change(change.jid, of: name, by: change.by, database) { stored in
          settings.hiddenBefore = [settings.hiddenBefore, stored.hiddenBefore].compactMap(\.self).max()
          if try Bookmark.isKept(change.jid, of: name, database) {
            settings.isPinned = stored.isPinned
            settings.notification = stored.notification
          }
          stored = settings
        }
      }
    }
  }

  private func take(markers items: [PubSub.Item], isNews: Bool = true) async {
    let name = account.description
    // That of a room is for those who are in it.
    let own = account.bare
    let markers = items.compactMap(DisplayedMarker.init).filter { $0.by == own }
    await storingConversations(isNews ? markers.count : 0) { database in
      try markers.compactMap { marker in
        let jid = marker.jid.description
        var stored = try StoredConversation.load(jid, of: name, database)
        if stored.displayed == marker.id { return nil }
        let isRead = try stored.take(displayed: marker.id, name, database)
        try stored.keep(jid, of: name, database)
        return isRead ? ConversationEvent(.read, jid: jid, by: ConversationEvent.otherDevice) : nil
      }
    }
  }

  /// The archive was read: what another device has read may be known now.
  func resolveMarkers() async {
    let name = account.description
    guard let jids = try? await localStore.read({ try StoredConversation.unresolved(of: name, $0) }),
      !jids.isEmpty
    else { return }
    await storingConversations(jids.count) { database in
      try jids.compactMap { jid in
        var stored = try StoredConversation.load(jid, of: name, database)
        guard let id = stored.displayed, try stored.take(displayed: id, name, database) else { return nil }
        try stored.keep(jid, of: name, database)
        return ConversationEvent(.read, jid: jid, by: ConversationEvent.otherDevice)
      }
    }
  }

  private func take(_ bookmarks: [Bookmark], isNews: Bool) async {
    let name = account.description
    let other = ConversationEvent.otherDevice
    let known = (try? await localStore.read { try Bookmark.jids(of: name, $0) }) ?? []
    await storingConversations(isNews ? (bookmarks.count + known.count) * Self.eventsPerItem : 0) {
      database in
      let gone = Set(known).subtracting(bookmarks.map(\.jid.description))
      return try gone.flatMap { try Bookmark.forget($0, of: name, by: other, database) }
        + bookmarks.flatMap { try $0.take(of: name, by: other, database) }
    }
  }

  private func take(bookmark item: PubSub.Item) async {
    guard let bookmark = Bookmark(item) else { return }
    let name = account.description
    await storingConversations(Self.eventsPerItem) {
      try bookmark.take(of: name, by: ConversationEvent.otherDevice, $0)
    }
  }

  private func remove(bookmark id: String) async {
    guard let jid = try? JID(id).description else { return }
    let name = account.description
    await storingConversations(Self.eventsPerItem) {
      try Bookmark.forget(jid, of: name, by: ConversationEvent.otherDevice, $0)
    }
  }

  private func take(accountEvent item: PubSub.Item) async {
    guard let event = AccountEvent(item), event.device != deviceID || deviceID == nil,
      event.kind == .decline
    else { return }
    let jid = event.jid.bare.description
    let name = account.description
    contacts.requested.remove(jid)
    await storing(1) { database in
      let isRemoved = try StoredRequests.remove(jid, of: name, database)
      return isRemoved ? [ContactEvent(.decline, jid: jid, by: .otherDevice)] : []
    }
  }

  /// Changes the store and tells what has happened, at most so many events; false where that cannot be done.
  @discardableResult
  func storingConversations(
    _ maximumEvents: Int, _ body: @escaping @Sendable (Database) throws -> [ConversationEvent]
  ) async -> Bool {
    let name = account.description
    do throws(Failure) {
      try await storeAndTell(maximumEvents) { database, cursors in
        let events = try body(database)
        return try ConversationEvent.keep(
          Array(events.prefix(maximumEvents)), of: name, under: cursors, time: Date().timeIntervalSince1970,
          database)
      }
      return true
    } catch {
      log.error(
        "conversations are not stored", metadata: ["account": "\(account)", "failure": "\(error.message)"])
      return false
    }
  }

  // MARK: What goes

  /// Tells the other devices that a request was declined: no server does.
  func announceDecline(of jid: JID, on stream: BoundSession) async {
    guard let account = await accountDiscovery(on: stream), PrivateNode.isOffered(in: account) else { return }
    let event = AccountEvent(.decline, jid: jid.bare, device: deviceID)
    do throws(XMPPError) {
      try await AccountEvent.node.publish(event.item(at: clock.now()), on: stream, of: account)
      let excess = AccountEvent.excess(of: try await AccountEvent.node.items(on: stream))
      if !excess.isEmpty { try await AccountEvent.node.retract(excess, on: stream) }
    } catch {
      log.info(
        "the other devices are not told",
        metadata: ["account": "\(self.account)", "failure": "\(error.code)"])
    }
  }

  /// Tells the server what was set while it could not be told.
  func publishPending(on stream: BoundSession) async {
    let name = account.description
    guard let jids = try? await localStore.read({ try ConversationEdit.jids(of: name, $0) }) else { return }
    for jid in jids {
      guard stream.isCurrent else { return }
      do throws(XMPPError) { try await publish(jid, on: stream) } catch {
        log.info(
          "a conversation is not shared", metadata: ["account": "\(account)", "failure": "\(error.code)"])
        if error.code == .networkError { return publishWhenAnswered(on: stream) }
      }
    }
  }

  /// Tells a server that was silent what it was not told, as soon as it answers again; a stream that ends is followed by
  /// one at whose beginning that is done.
  func publishWhenAnswered(on stream: BoundSession) {
    guard stream.isCurrent, !sharing.isAsking else { return }
    sharing.isAsking = true
    Task {
      let answer = try? await stream.request(Ping.request(account.bare), timeout: .bounded(0))
      // Once: who answers this and nothing else is not asked for ever.
      if answer != nil { await publishPending(on: stream) }
      sharing.isAsking = false
    }
  }

  /// Gives the server what it does not have of a conversation. What is in its items is read first: what others have put
  /// there stays.
  func publish(
    _ jid: String, on stream: BoundSession, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    if sharing.isPublishing { await withCheckedContinuation { sharing.waitingToPublish.append($0) } }
    sharing.isPublishing = true
    defer {
      sharing.isPublishing = !sharing.waitingToPublish.isEmpty
      if sharing.isPublishing { sharing.waitingToPublish.removeFirst().resume() }
    }
    let name = account.description
    let pending = try? await localStore.read { database in
      (
        edits: try ConversationEdit.load(jid, of: name, database),
        isBookmark: try Bookmark.isKept(jid, of: name, database)
      )
    }
    guard let pending, !pending.edits.isEmpty else { return }
    let account = await accountDiscovery(on: stream)
    let isOfBookmark = { (edit: ConversationEdit) in pending.isBookmark && edit.isOfBookmark }
    let settings = pending.edits.filter { $0.isSetting && !isOfBookmark($0) }
    if !settings.isEmpty {
      let node = ConversationSettings.node
      let old = try await node.items([jid], on: stream, timeout: timeout).first?.payload
      var new = ConversationSettings(old)
      for edit in settings { edit.apply(to: &new) }
      try await node.publish(
        PubSub.Item(jid, new.payload(old, device: deviceID)), on: stream, of: account, timeout: timeout)
    }
    let ofBookmark = pending.edits.filter(isOfBookmark)
    if !ofBookmark.isEmpty,
      let old = try await Bookmark.node.items([jid], on: stream, timeout: timeout).first?.payload
    {
      var new = old
      for edit in ofBookmark { new = edit.bookmark(new) }
      try await Bookmark.node.publish(PubSub.Item(jid, new), on: stream, of: account, timeout: timeout)
    }
    for case .displayed(let id) in pending.edits.map(\.kind) {
      guard let jid = try? JID(jid) else { continue }
      try await DisplayedMarker.node.publish(
        DisplayedMarker(jid: jid, id: id, by: self.account.bare).item, on: stream, of: account,
        timeout: timeout)
    }
    _ = try? await localStore.change { database in
      for edit in pending.edits { try edit.remove(jid, of: name, database) }
    }
  }
}
