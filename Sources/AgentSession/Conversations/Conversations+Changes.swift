import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// The commands that change conversations: each change is stored at once and published to the account's other devices as
// soon as possible.

extension Conversations {
  package func change(
    _ parameters: ConversationsChangeMethod.Parameters
  ) async throws(Failure) -> ConversationsChangeMethod.Result {
    let stream = session.ask { $0.online?.stream }
    let name = context.account.description
    let jid = try HistoryQuery.peer(parameters.jid, of: name)
    if parameters.change == .clear, let url = parameters.purge {
      try await session.purgeArchive(of: jid, at: url, timeout: .bounded(parameters.timeout))
    }
    let now = context.clock.now()
    let action = try await store(parameters, jid, now: now)
    var result = ConversationsChangeMethod.Result(jid: jid, action: action, published: false)
    if let stream {
      do throws(XMPPError) { try await publish(jid, on: stream, timeout: .bounded(parameters.timeout)) } catch
      {
        result.cause = Failure(error)
        if error.code == .networkError { publishWhenAnswered(on: stream) }
      }
    }
    let left = try await context.localStore.read { try ConversationEdit.load(jid, of: name, $0) }
    result.published = left.isEmpty
    return result
  }

  /// Stores a change. The agent does not exit before the write has ended.
  private func store(
    _ parameters: ConversationsChangeMethod.Parameters, _ jid: String, now: Double
  ) async throws(Failure) -> ConversationEvent.Action? {
    session.ask { $0.beginWriting() }
    defer { session.ask { $0.endWriting() } }
    let name = context.account.description
    let events = try await context.storeAndPublish(1) { database, cursors in
      let event = try parameters.save(jid, of: name, now: now, database)
      return try ConversationEvent.save(
        event.map { [$0] } ?? [], of: name, under: cursors, time: now, database)
    }
    guard case .conversation(let event)? = events.first?.body else { return nil }
    return event.action
  }
}

extension ConversationsChangeMethod.Parameters {
  /// Stores the change and marks it for publishing; returns nil where nothing changes.
  fileprivate func save(
    _ jid: String, of account: String, now: Double, _ database: Database
  ) throws -> ConversationEvent? {
    var stored = try StoredConversation.load(jid, of: account, database)
    if change == .read { return try markAllRead(jid, of: account, &stored, database) }
    let edits = try edits(jid, of: account, now: now, database)
    var settings = stored.settings
    for edit in edits { edit.apply(to: &settings) }
    let events = stored.apply(settings, jid, by: ConversationEvent.own)
    guard !events.isEmpty else { return nil }
    if stored.settings.marks.count > ConversationSettings.maximumMarks {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: .session(.tooManyMarks, ConversationSettings.maximumMarks))
    }
    try stored.save(jid, of: account, database)
    for edit in edits { try edit.save(jid, of: account, database) }
    if change == .delete, let time = settings.hiddenBefore {
      try StoredMessage.forgetContent(of: jid, until: time, account, database)
    }
    return events.first
  }

  private func edits(
    _ jid: String, of account: String, now: Double, _ database: Database
  ) throws -> [ConversationEdit] {
    switch change {
    case .read: return []
    case .pin: return [.init(.pinned(true))]
    case .unpin: return [.init(.pinned(false))]
    case .mute: return [.init(.notification(.never))]
    case .unmute: return [.init(.notification(nil))]
    case .mark: return adds.map { .init(.mark($0, true)) } + removes.map { .init(.mark($0, false)) }
    case .clear, .delete:
      let newest = try Double.fetchOne(
        database,
        sql: """
          SELECT time FROM messages INDEXED BY messagesByPeer
          WHERE account = ? AND peer = ? AND place IS NOT NULL ORDER BY place DESC LIMIT 1
          """, arguments: [account, jid])
      // The time is published in milliseconds.
      let time = (max(now, newest ?? now) * 1000).rounded(.up) / 1000
      return (change == .delete ? [.init(.deleted)] : []) + [.init(.hiddenBefore(time))]
    }
  }

  /// Marks all stored messages as read.
  private func markAllRead(
    _ jid: String, of account: String, _ stored: inout StoredConversation, _ database: Database
  ) throws -> ConversationEvent? {
    let newest = """
      SELECT place, archiveID FROM messages INDEXED BY messagesByPeer
      WHERE account = ? AND peer = ? AND place IS NOT NULL
      """
    let last = try Row.fetchOne(
      database, sql: newest + " ORDER BY place DESC LIMIT 1", arguments: [account, jid])
    guard let place = last.map({ $0["place"] as Int64 }), place > stored.readPlace ?? .min else { return nil }
    let isUnread = try StoredConversations.unread(jid, account, stored, database) > 0
    stored.readPlace = place
    let known = try Row.fetchOne(
      database, sql: newest + " AND archiveID IS NOT NULL ORDER BY place DESC LIMIT 1",
      arguments: [account, jid])
    if let id = known.map({ $0["archiveID"] as String }), id != stored.displayed {
      stored.displayed = id
      try ConversationEdit(.displayed(id)).save(jid, of: account, database)
    }
    try stored.save(jid, of: account, database)
    return isUnread ? ConversationEvent(.read, jid: jid, by: ConversationEvent.own) : nil
  }
}
