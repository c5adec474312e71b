import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// Handles the private nodes of the account that describe conversations.

extension Conversations {
  /// The maximum number of events caused by one item.
  private static let eventsPerItem = 4

  /// Handles a change in a PubSub node of the account.
  func receive(_ event: PubSub.Event) async {
    for change in event.changes {
      switch (event.node, change) {
      case (ConversationSettings.node.name, .published(let item)): await store(conversations: [item])
      case (ConversationSettings.node.name, .retracted(let id)):
        await store(conversations: [PubSub.Item(id)])
      case (DisplayedMarker.node.name, .published(let item)): await store(markers: [item])
      case (Bookmark.node.name, .published(let item)): await store(bookmark: item)
      case (Bookmark.node.name, .retracted(let id)): await remove(bookmark: id)
      default: break
      }
    }
  }

  private func actor(_ device: String?) -> String {
    guard let device else { return ConversationEvent.otherDevice }
    return device == session.ask({ $0.deviceID }) ? ConversationEvent.own : device
  }

  func store(conversations items: [PubSub.Item], isNews: Bool = true) async {
    let name = context.account.description
    let changes = items.compactMap { item -> (jid: String, item: PubSub.Item, by: String)? in
      guard let jid = try? JID(item.id).description else { return nil }
      return (jid, item, actor(ConversationSettings.device(in: item.payload)))
    }
    await store(isNews ? changes.count * Self.eventsPerItem : 0) { database in
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

  func store(markers items: [PubSub.Item], isNews: Bool = true) async {
    let name = context.account.description
    // Markers with the IDs of another archive, such as a room's, cannot be resolved here.
    let own = context.account.bare
    let markers = items.compactMap(DisplayedMarker.init).filter { $0.by == own }
    await store(isNews ? markers.count : 0) { database in
      try markers.compactMap { marker in
        let jid = marker.jid.description
        var stored = try StoredConversation.load(jid, of: name, database)
        if stored.displayed == marker.id { return nil }
        let isRead = try stored.markRead(through: marker.id, name, database)
        try stored.save(jid, of: name, database)
        return isRead ? ConversationEvent(.read, jid: jid, by: ConversationEvent.otherDevice) : nil
      }
    }
  }

  /// Applies the read markers of other devices whose messages the archive has provided meanwhile.
  func resolveMarkers() async {
    let name = context.account.description
    guard let jids = try? await context.localStore.read({ try StoredConversation.unresolved(of: name, $0) }),
      !jids.isEmpty
    else { return }
    await store(jids.count) { database in
      try jids.compactMap { jid in
        var stored = try StoredConversation.load(jid, of: name, database)
        guard let id = stored.displayed, try stored.markRead(through: id, name, database) else { return nil }
        try stored.save(jid, of: name, database)
        return ConversationEvent(.read, jid: jid, by: ConversationEvent.otherDevice)
      }
    }
  }

  func store(_ bookmarks: [Bookmark], isNews: Bool) async {
    let name = context.account.description
    let other = ConversationEvent.otherDevice
    let known = (try? await context.localStore.read { try Bookmark.jids(of: name, $0) }) ?? []
    await store(isNews ? (bookmarks.count + known.count) * Self.eventsPerItem : 0) {
      database in
      let gone = Set(known).subtracting(bookmarks.map(\.jid.description))
      return try gone.flatMap { try Bookmark.forget($0, of: name, by: other, database) }
        + bookmarks.flatMap { try $0.saveWithSettings(of: name, by: other, database) }
    }
  }

  private func store(bookmark item: PubSub.Item) async {
    guard let bookmark = Bookmark(item) else { return }
    let name = context.account.description
    await store(Self.eventsPerItem) {
      try bookmark.saveWithSettings(of: name, by: ConversationEvent.otherDevice, $0)
    }
  }

  private func remove(bookmark id: String) async {
    guard let jid = try? JID(id).description else { return }
    let name = context.account.description
    await store(Self.eventsPerItem) {
      try Bookmark.forget(jid, of: name, by: ConversationEvent.otherDevice, $0)
    }
  }

  /// Changes the store and publishes at most `count` events; returns false where the store failed.
  @discardableResult
  func store(
    _ maximumEvents: Int, _ body: @escaping @Sendable (Database) throws -> [ConversationEvent]
  ) async -> Bool {
    let name = context.account.description
    return await context.storeAndPublish("conversations are not stored", maximumEvents) { database, cursors in
      let events = try body(database)
      return try ConversationEvent.save(
        Array(events.prefix(maximumEvents)), of: name, under: cursors, time: Date().timeIntervalSince1970,
        database)
    }
  }
}
