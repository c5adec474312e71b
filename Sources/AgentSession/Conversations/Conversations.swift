import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// The settings of conversations that the devices of the account share: bookmarks, settings and displayed markers.
///
/// They are kept in private nodes of the account, which are read at the start of a session and pushed on every change
/// afterwards. A command's change is stored at once and published as soon as possible.
package final class Conversations {
  /// The time limit of each request at the start of a session.
  private static let patience = TimeAmount.seconds(10)
  private static let parts: [SyncPart] = [.groups, .conversations, .markers]

  unowned let session: Session
  let context: SessionContext
  private let features: AccountFeatures
  /// The task that reads the nodes, running or finished.
  private var loading: Task<Void, Never>?
  /// Whether the stored settings match the nodes.
  private var isCurrent = false
  /// Serialises publishing, because an item is read, changed and published again.
  private let publishing = Turns()
  /// Whether a request is open that waits for a silent server to answer again.
  private var isAsking = false

  init(of session: Session, _ context: SessionContext, _ features: AccountFeatures) {
    self.session = session
    self.context = context
    self.features = features
  }

  // MARK: Start of a session

  /// Called for a new session, which has read nothing. Publishing that is under way goes on.
  func begin() {
    loading = nil
    isCurrent = false
    isAsking = false
  }

  /// Starts reading the nodes if they are known to exist; returns whether they are.
  func loadKnown(_ beginning: SessionBeginning) async -> Bool {
    let isKnown = await wasShared()
    if isKnown { loading = session.start { await $0.conversations.load(beginning, isFirst: false) } }
    return isKnown
  }

  /// Starts reading the nodes after the initial presence, unless this agent has read them in the session that was
  /// resumed.
  func load(_ beginning: SessionBeginning) {
    if isCurrent { return }
    loading = session.start { session in
      let isFirst = await !session.conversations.wasShared()
      await session.conversations.load(beginning, isFirst: isFirst)
    }
  }

  /// Returns when the nodes are read.
  func loaded() async { await loading?.value }

  /// Returns when the nodes are read or the time is up; the rest is handled when it arrives.
  func loaded(within seconds: Double) async {
    guard let loading else { return }
    let wait = DeliveryWait(["loading"])
    Task {
      await loading.value
      wait.end()
    }
    await wait.wait(seconds: seconds)
  }

  /// Whether reading the nodes is worthwhile before the account's features are known.
  private func wasShared() async -> Bool {
    let name = context.account.description
    let isKnown = try? await context.localStore.read { database in
      try Row.fetchOne(database, sql: "SELECT 1 FROM sharing WHERE account = ?", arguments: [name]) != nil
    }
    return isKnown == true
  }

  /// Reads the nodes; a node that the server lacks is not an error. Only the first load waits for the account's features,
  /// because that request is sent after the initial presence.
  private func load(_ beginning: SessionBeginning, isFirst: Bool) async {
    let stream = beginning.stream
    if isFirst {
      guard let account = await features.current(on: stream), PrivateNode.isOffered(in: account) else {
        for part in Self.parts { beginning.end(part, count: nil) }
        return
      }
    }
    async let bookmarks = Self.bookmarks(on: stream)
    async let conversations = try? ConversationSettings.node.items(on: stream, timeout: Self.patience)
    async let markers = try? DisplayedMarker.node.items(on: stream, timeout: Self.patience)
    let rooms = await bookmarks
    if let rooms { await store(rooms, isNews: !isFirst) }
    beginning.end(.groups, count: rooms?.count)
    let settings = await conversations
    if let settings { await store(conversations: settings, isNews: !isFirst) }
    beginning.end(.conversations, count: settings?.count)
    let displayed = await markers
    if let displayed { await store(markers: displayed, isNews: !isFirst) }
    beginning.end(.markers, count: displayed?.count)
    guard stream.isCurrent else { return }
    isCurrent = true
    let name = context.account.description
    _ = try? await context.localStore.change { database in
      try database.execute(sql: "INSERT OR IGNORE INTO sharing (account) VALUES (?)", arguments: [name])
    }
  }

  /// Reads all bookmarks. Some servers do not keep the old formats in step with the new one, which takes precedence
  /// (XEP-0402 §6).
  private static func bookmarks(on stream: BoundSession) async -> [Bookmark]? {
    async let items = try? Bookmark.node.items(on: stream, timeout: patience)
    async let answer = try? stream.request(Bookmark.privateStorageRequest(), timeout: patience)
    async let oldItems = try? Bookmark.oldNode.items(on: stream, timeout: patience)
    let old = await answer.map(Bookmark.privateStorage) ?? []
    let older = (await oldItems ?? []).flatMap { Bookmark.old($0.payload) }
    guard let bookmarks = await items?.compactMap(Bookmark.init) else { return nil }
    var known = Set(bookmarks.map(\.jid))
    return bookmarks + (old + older).filter { known.insert($0.jid).inserted }
  }

  // MARK: Publishing

  /// Publishes the changes that could not be published when they were made.
  func publishPending(on stream: BoundSession) async {
    let name = context.account.description
    guard let jids = try? await context.localStore.read({ try ConversationEdit.jids(of: name, $0) }) else {
      return
    }
    for jid in jids {
      guard stream.isCurrent else { return }
      do throws(XMPPError) { try await publish(jid, on: stream) } catch {
        context.log.info(
          "a change of a conversation could not be shared",
          metadata: ["account": "\(context.account)", "failure": "\(error.code)"])
        if error.code == .networkError { return publishWhenAnswered(on: stream) }
      }
    }
  }

  /// Publishes the pending changes when a silent server answers again. If the stream ends first, the next stream does
  /// it at its start.
  func publishWhenAnswered(on stream: BoundSession) {
    guard stream.isCurrent, !isAsking else { return }
    isAsking = true
    session.start { await $0.conversations.waitForAnswer(on: stream) }
  }

  private func waitForAnswer(on stream: BoundSession) async {
    let answer = try? await stream.request(Ping.request(context.account.bare), timeout: .bounded(0))
    // Only once: a server that answers this request but no other one must not be asked for ever.
    if answer != nil { await publishPending(on: stream) }
    isAsking = false
  }

  /// Publishes the unpublished changes of a conversation. The items are read first, so that changes by other clients
  /// are kept.
  func publish(
    _ jid: String, on stream: BoundSession, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    await publishing.begin()
    defer { publishing.end() }
    let name = context.account.description
    let pending = try? await context.localStore.read { database in
      (
        edits: try ConversationEdit.load(jid, of: name, database),
        isBookmark: try Bookmark.isKept(jid, of: name, database)
      )
    }
    guard let pending, !pending.edits.isEmpty else { return }
    let account = await features.current(on: stream)
    let isOfBookmark = { (edit: ConversationEdit) in pending.isBookmark && edit.isOfBookmark }
    let settings = pending.edits.filter { $0.isSetting && !isOfBookmark($0) }
    if !settings.isEmpty {
      let node = ConversationSettings.node
      let old = try await node.items([jid], on: stream, timeout: timeout).first?.payload
      var new = ConversationSettings(old)
      for edit in settings { edit.apply(to: &new) }
      try await node.publish(
        PubSub.Item(jid, new.payload(old, device: session.ask { $0.deviceID })), on: stream, of: account,
        timeout: timeout)
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
        DisplayedMarker(jid: jid, id: id, by: context.account.bare).item, on: stream, of: account,
        timeout: timeout)
    }
    _ = try? await context.localStore.change { database in
      for edit in pending.edits { try edit.remove(jid, of: name, database) }
    }
  }
}
