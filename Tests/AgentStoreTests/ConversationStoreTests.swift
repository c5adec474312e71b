import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza

@testable import AgentStore

@Suite(.timeLimit(.minutes(4))) struct ConversationStoreTests {
  private let directory: TemporaryDirectory
  private let store: LocalStore

  init() throws {
    directory = try TemporaryDirectory()
    store = try LocalStore(path: directory.paths.database)
  }

  private func message(
    _ body: String?, time: Double, id: String, sender: String = "b@c", retracts: String? = nil,
    replaces: String? = nil
  ) -> StoredMessage {
    var message = StoredMessage(
      direction: sender == "a@b" ? .sent : .received, sender: sender, time: time, id: id,
      archiveID: sender == "b@c" ? "archive-\(id)" : "archive-\(id)-\(sender)", from: sender,
      to: sender == "a@b" ? "b@c" : "a@b", type: .chat, body: body)
    message.retracts = retracts
    message.replaces = replaces
    return message
  }

  private func keep(_ messages: [StoredMessage], from cursor: Int64 = 1) async throws {
    try await store.change { database in
      for (number, message) in messages.enumerated() {
        _ = try message.insert("a@b", cursor: cursor + Int64(number), database)
      }
    }
  }

  private func bodies() async throws -> [String?] {
    try await store.read { try String?.fetchAll($0, sql: "SELECT body FROM messages ORDER BY cursor") }
  }

  private func found(_ word: String) async throws -> Int {
    var query = HistoryQuery(account: "a@b")
    query.words = [word]
    let statement = query.statement
    return try await store.read {
      try Int64.fetchAll($0, sql: statement.sql, arguments: statement.arguments).count
    }
  }

  @Test(
    "A retracted message and its corrections lose their text, but a message from another sender does not."
  )
  func takenBack() async throws {
    try await keep([
      message("pineapple", time: 1, id: "one"), message("pineapple pie", time: 2, id: "two", replaces: "one"),
      message("pineapple", time: 3, id: "one", sender: "d@e"), message("else", time: 4, id: "three"),
    ])
    #expect(try await found("pineapple") == 3)
    try await keep([message(nil, time: 5, id: "four", retracts: "one")], from: 10)
    #expect(try await found("pineapple") == 1)
    #expect(try await bodies() == [nil, nil, "pineapple", "else", nil])
    let events = try await store.replay(after: 0, until: 100, account: "a@b", names: ["message"]).events
    let told = events.compactMap { if case .message(let message) = $0.body { message } else { nil } }
    #expect(told.first?.body == nil && told.first?.retracted == true)
  }

  @Test("A message that arrives after its own retraction is stored without its text.")
  func late() async throws {
    try await keep([
      message(nil, time: 5, id: "four", retracts: "one"), message("pineapple", time: 1, id: "one"),
    ])
    #expect(try await bodies() == [nil, nil])
    #expect(try await found("pineapple") == 0)
  }

  @Test(
    "A retracted message from the archive is stored without its text, whichever page is read first.",
    arguments: [
      [[0, 1], [2, 3, 4]], [[2, 3, 4], [0, 1]], [[0, 1, 2, 3, 4]], [[4], [3], [2], [1], [0]],
    ])
  func pages(pages: [[Int]]) async throws {
    let archive = [
      message("pineapple", time: 1, id: "one"), message("mine", time: 2, id: "one", sender: "d@e"),
      message("pineapple pie", time: 3, id: "two", replaces: "one"),
      message("pear", time: 4, id: "three", replaces: "nothing"),
      message(nil, time: 5, id: "four", retracts: "one"),
    ]
    for page in pages {
      try await store.change { database in
        _ = try StoredMessage.insertPast(page.map { archive[$0] }, "a@b", database)
      }
    }
    #expect(try await found("pineapple") == 0)
    var shown: [MessageEvent] = []
    try LocalHistory(path: directory.paths.database)?.read(HistoryQuery(account: "a@b")) { event in
      if case .message(let message) = event.body { shown.append(message) }
    }
    #expect(shown.prefix(4).map(\.body) == [nil, "mine", nil, "pear"])
    #expect(shown.prefix(4).map(\.retracted) == [true, nil, true, nil])
    #expect(shown.prefix(4).map(\.replaces) == [nil, nil, "one", nil])
    #expect(shown.dropFirst(4).map(\.retracts) == shown.dropFirst(4).map { _ in "one" })
    #expect(try await store.replay(after: 0, until: .max, account: "a@b").events.isEmpty)
  }

  @Test("A change from another device does not undo changes that the server does not know yet.")
  func edits() async throws {
    let events = try await store.change { database in
      try ConversationEdit(.pinned(true)).save("b@c", of: "a@b", database)
      try ConversationEdit(.mark("work", true)).save("b@c", of: "a@b", database)
      return try StoredConversation.change("b@c", of: "a@b", by: "d1", database) { settings in
        settings.isPinned = false
        settings.marks = ["home"]
        settings.notification = .never
      }
    }
    #expect(events.map(\.action) == [.pinned, .mute, .mark])
    #expect(events.last?.marks == ["home", "work"])
    let again = try await store.change { database in
      try StoredConversation.change("b@c", of: "a@b", by: "d1", database) { $0.isPinned = false }
    }
    #expect(again.isEmpty)
  }

  @Test("A deleted conversation loses the settings from before the deletion, but not later ones.")
  func deleted() async throws {
    let settings = try await store.change { database in
      for edit in [
        ConversationEdit(.pinned(true)), .init(.mark("old", true)), .init(.deleted), .init(.hiddenBefore(7)),
        .init(.mark("new", true)),
      ] {
        try edit.save("b@c", of: "a@b", database)
      }
      var settings = ConversationSettings()
      settings.marks = ["before"]
      for edit in try ConversationEdit.load("b@c", of: "a@b", database) { edit.apply(to: &settings) }
      return settings
    }
    #expect(
      settings.marks == ["new"] && !settings.isPinned && settings.hiddenBefore == 7 && !settings.isDeleted)
  }

  @Test(
    "The read position from another device only moves forward, and applies when its message arrives later.")
  func read() async throws {
    try await keep([message("1", time: 1, id: "one"), message("2", time: 2, id: "two")])
    func take(_ id: String) async throws -> Bool {
      try await store.change { database in
        var stored = try StoredConversation.load("b@c", of: "a@b", database)
        let isRead = try stored.markRead(through: id, "a@b", database)
        try stored.save("b@c", of: "a@b", database)
        return isRead
      }
    }
    func unread() async throws -> Int? {
      try await store.read { try StoredConversations.list("a@b", $0).first?.unread }
    }
    #expect(try await unread() == 2)
    #expect(try await take("archive-two"))
    #expect(try await !take("archive-one"))
    #expect(try await unread() == 0)
    #expect(try await !take("archive-three"))
    #expect(try await store.read { try StoredConversation.unresolved(of: "a@b", $0) } == [])
    try await keep([message("3", time: 3, id: "three"), message("4", time: 4, id: "four")], from: 20)
    #expect(try await store.read { try StoredConversation.unresolved(of: "a@b", $0) } == ["b@c"])
    #expect(try await take("archive-three"))
    #expect(try await unread() == 1)
  }

  @Test("Pinned conversations are listed first, and hidden ones are left out.")
  func list() async throws {
    try await keep([
      message("1", time: 1, id: "one"), message("2", time: 2, id: "two", sender: "x@y"),
      message("3", time: 3, id: "three", sender: "h@i"),
    ])
    let listed = try await store.change { database in
      for (jid, pinned, hidden) in [("b@c", true, nil), ("h@i", false, 3.0)] as [(String, Bool, Double?)] {
        var stored = StoredConversation()
        stored.settings.isPinned = pinned
        stored.settings.hiddenBefore = hidden
        try stored.save(jid, of: "a@b", database)
      }
      return try StoredConversations.list("a@b", database)
    }
    #expect(listed.map(\.jid) == ["b@c", "x@y"])
    #expect(listed.map(\.unread) == [1, 1] && listed.map(\.pinned) == [true, false])
    let query = HistoryQuery(account: "a@b").statement
    let shown = try await store.read {
      try Int64.fetchAll($0, sql: query.sql, arguments: query.arguments).count
    }
    #expect(shown == 2)
    try await store.forget("a@b")
    #expect(try await store.read { try StoredConversations.list("a@b", $0) }.isEmpty)
  }
}
