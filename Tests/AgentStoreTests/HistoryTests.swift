import AgentProtocol
import GRDB
import Glibc
import TestSupport
import Testing

@testable import AgentStore
@testable import AgentSystem

@Suite("The message history", .timeLimit(.minutes(4)))
struct HistoryTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }

  init() throws { directory = try TemporaryDirectory() }

  private func message(_ body: String?, _ peer: String = "b@c/d", sent: Bool = false, at time: Double = 1000)
    -> StoredMessage
  {
    StoredMessage(
      direction: sent ? .sent : .received, sender: sent ? "a@b" : peer, time: time,
      from: sent ? "a@b/here" : peer, to: sent ? peer : "a@b/here", type: .chat, body: body)
  }

  /// - Parameter cursor: of the first; nil where they come out of the past.
  private func keep(_ messages: [StoredMessage], from cursor: Int64? = 1, of account: String = "a@b")
    async throws
  {
    try await LocalStore(path: path).change { database in
      for (index, message) in messages.enumerated() {
        _ = try message.insert(account, cursor: cursor.map { $0 + Int64(index) }, database)
      }
    }
  }

  private func bodies(
    _ peer: String? = nil, _ words: String..., limit: Int = 50, of account: String = "a@b",
    newestFirst: Bool = false, _ change: (inout HistoryQuery) -> Void = { _ in }
  ) throws -> [String] {
    var query = HistoryQuery(account: account, peer: peer, limit: limit)
    query.words = words
    change(&query)
    var bodies: [String] = []
    try #require(try LocalHistory(path: path)).read(query, newestFirst: newestFirst) { event in
      if case .message(let message) = event.body { bodies.append(message.body ?? "-") }
    }
    return bodies
  }

  @Test("A missing database means that there is no history, and none is created.")
  func none() throws {
    #expect(try LocalHistory(path: path) == nil)
    #expect(mode(path) == 0)
  }

  @Test(
    "The first of all messages is delivered before the last one is read from the database.",
    arguments: [false, true])
  func all(isFolded: Bool) async throws {
    let count = 1201
    try await keep((0..<count).map { message("\($0)", at: 1000 + Double($0)) })
    let writer = try LocalStore(path: path)
    let late = message("late", at: 9000)
    var query = HistoryQuery(account: "a@b", limit: .max)
    query.isFolded = isFolded
    var bodies: [String] = []
    try #require(try LocalHistory(path: path)).read(query) { event in
      guard case .message(let message) = event.body else { return }
      bodies.append(message.body ?? "-")
      if bodies.count == 1 {
        try writer.database.write { _ = try late.insert("a@b", cursor: 5000, $0) }
      }
    }
    #expect(bodies == (0..<count).map(String.init) + ["late"])
  }

  @Test(
    "Threads are listed for each conversation, the newest first, and the history of a thread has only its messages."
  )
  func threads() async throws {
    var messages = [
      message("1", at: 1000), message("2", at: 1001), message("3", "x@y", at: 1002),
      message("4", sent: true, at: 1003),
      message("5", at: 1004),
    ]
    for (index, thread) in ["t", "u", "t", "t", nil].enumerated() { messages[index].thread = thread }
    try await keep(messages)
    try await keep([messages[0]], from: 10, of: "a2@b")
    let all = try StoredThreads.list("a@b", with: nil, limit: 50, at: path)
    #expect(all.map(\.jid) == ["b@c", "x@y", "b@c"] && all.map(\.thread) == ["t", "t", "u"])
    #expect(all.map(\.messages) == [2, 1, 1])
    #expect(all.first?.first == "1970-01-01T00:16:40.000Z" && all.first?.last == "1970-01-01T00:16:43.000Z")
    #expect(try StoredThreads.list("a@b", with: "x@y", limit: 50, at: path).map(\.jid) == ["x@y"])
    #expect(try StoredThreads.list("a@b", with: nil, limit: 1, at: path).count == 1)
    #expect(try StoredThreads.list("a@b", with: nil, limit: 1, at: path + "-none").isEmpty)
    #expect(try bodies { $0.thread = "t" } == ["1", "3", "4"])
    #expect(try bodies("b@c") { $0.thread = "t" } == ["1", "4"])
    #expect(try bodies(nil, "4") { $0.thread = "t" } == ["4"])
    #expect(try bodies(nil, "5") { $0.thread = "t" } == [])
  }

  @Test(
    "A conversation has all messages from and to a bare JID, of one account only.")
  func conversation() async throws {
    try await keep([
      message("1"), message("2", "b@c/other"), message("3", "b@c", sent: true), message("4", "x@y/z"),
      message("5", "c@b@c"), message("6", "b@c/e/f@g", sent: true),
    ])
    try await keep([message("7")], from: 10, of: "a2@b")
    #expect(try bodies("b@c") == ["1", "2", "3", "6"])
    #expect(try bodies("x@y") == ["4"])
    #expect(try bodies() == ["1", "2", "3", "4", "5", "6"])
    #expect(try bodies(of: "a2@b") == ["7"])
    #expect(try bodies("b@c", limit: 2) == ["3", "6"])
    #expect(try bodies("b@c", limit: 2, newestFirst: true) == ["6", "3"])
  }

  @Test("Each other device of the account has a conversation of its own, and so have notes to oneself.")
  func ownDevices() async throws {
    var toAll = message("note", "a@b/phone")
    toAll.to = "a@b"
    try await keep([
      message("to phone", "a@b/phone", sent: true), message("from phone", "a@b/phone"), toAll,
      message("my note", "a@b", sent: true), message("to desk", "a@b/desk", sent: true),
    ])
    #expect(try bodies("a@b/phone") == ["to phone", "from phone"])
    #expect(try bodies("a@b") == ["note", "my note"])
    #expect(try HistoryQuery.peer("A@b/phone", of: "a@b") == "a@b/phone")
    #expect(try HistoryQuery.peer("B@C/phone", of: "a@b") == "b@c")
  }

  @Test(
    "Messages are sorted by time and then by arrival, and those from the archive come first.")
  func order() async throws {
    try await keep([
      message("c", at: 30), message("a", at: 10), message("d", at: 30), message("b", at: 20),
      message("e", at: 31),
    ])
    try await LocalStore(path: path).change { database in
      for body in ["y", "x"] {
        _ = try message(body, at: 30).insert("a@b", cursor: nil, database)
      }
    }
    #expect(try bodies() == ["a", "b", "x", "y", "c", "d", "e"])
    #expect(try bodies { ($0.after, $0.before) = (20, 31) } == ["b", "x", "y", "c", "d"])
    #expect(try bodies { $0.before = 20 } == ["a"])
    #expect(try bodies { $0.after = 30.001 } == ["e"])
    #expect(try bodies { ($0.after, $0.before) = (-1e300, 1e300) }.count == 7)
  }

  @Test("A message with a time in whole seconds comes after those that arrived before it within that second.")
  func wholeSeconds() async throws {
    try await keep([
      message("1", at: 30.7), message("2", at: 30), message("3", at: 30), message("4", at: 31),
      message("5", at: 30.2),
    ])
    try await keep([message("0", at: 30)], from: nil)
    #expect(try bodies() == ["0", "5", "1", "2", "3", "4"])
  }

  @Test("Messages with impossible times are still sorted.")
  func oddTimes() async throws {
    try await keep([message("late", at: 1e300), message("now", at: 1000), message("early", at: -1e300)])
    #expect(try bodies() == ["early", "now", "late"])
    #expect(try bodies(nil, "late") == ["late"])
  }

  @Test(
    "A search finds all of its words, as whole words and without regard to case and accents, newest first."
  )
  func search() async throws {
    var subject = message("nothing", at: 5)
    subject.subject = "Deploy: red"
    try await keep([
      message("Deploy the café", at: 1), message("we DEPLOY to Cafe red", at: 2), message("deployed", at: 3),
      message("red deploy", "x@y/z", at: 4), subject,
    ])
    #expect(
      try bodies(nil, "deploy", "CAFÉ", newestFirst: true) == ["we DEPLOY to Cafe red", "Deploy the café"])
    #expect(try bodies(nil, "deploy", "red") == ["we DEPLOY to Cafe red", "red deploy", "nothing"])
    #expect(try bodies(nil, "deploy", "red", limit: 1) == ["nothing"])
    #expect(try bodies("x@y", "deploy") == ["red deploy"])
    #expect(
      try bodies(nil, "red") { ($0.after, $0.before) = (2, 5) } == ["we DEPLOY to Cafe red", "red deploy"])
    #expect(try bodies(nil, "missing", "red").isEmpty)
  }

  @Test("A search finds text without spaces inside longer text, and also signs that are not words.")
  func unspaced() async throws {
    try await keep([
      message("我们明天聊天吧"), message("聊点别的"), message("well :-) 100%"), message("100 of 👍 a_b"), message("azb"),
      message("café 聊天"),
    ])
    #expect(try bodies(nil, "聊天") == ["我们明天聊天吧", "café 聊天"])
    #expect(try bodies(nil, "聊天", "CAFE") == ["café 聊天"])
    #expect(try bodies(nil, ":-)") == ["well :-) 100%"])
    #expect(try bodies(nil, "👍") == ["100 of 👍 a_b"])
    #expect(try bodies(nil, "%").count == 1)
    #expect(try bodies(nil, "_").count == 1)
  }

  @Test(
    "The words of a search are not interpreted as SQL or FTS5 syntax.",
    arguments: [
      "'", "\"", "\"\"", "x'; DROP TABLE messages; --", "body:hello", "hello*", "^hello", "NEAR(hello, 1)",
      "OR",
      "AND", "NOT", "-hello", "{body}:hello", "(", ")", "he\"llo", "\\", "%", ";", "?1",
      "hello+world",
    ])
  func inert(word: String) async throws {
    try await keep([message("hello world"), message("say \(word) again")])
    #expect(try bodies(nil, word).contains("say \(word) again"))
    #expect(try bodies(nil, "hello", word).count <= 2)
    #expect(try bodies(word).isEmpty)
    #expect(try bodies(of: word).isEmpty)
  }

  @Test("A search finds a changed message by its new text only, and never a deleted message.")
  func inStep() async throws {
    try await keep([message("first words"), message("others")])
    let store = try LocalStore(path: path)
    try await store.change {
      try $0.execute(sql: "UPDATE messages SET body = 'second text' WHERE cursor = 1")
    }
    #expect(try bodies(nil, "first").isEmpty)
    #expect(try bodies(nil, "second") == ["second text"])
    try await keep([message("second account")], from: 9, of: "x@y")
    try await store.forget("a@b")
    #expect(try bodies(nil, "second").isEmpty)
    #expect(try bodies(nil, "second", of: "x@y") == ["second account"])
    // SQLite itself compares the index with the messages.
    try await store.change { database in
      try database.execute(sql: "INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
      let words = try String.fetchAll(database, sql: "SELECT hex(block) FROM search_data").joined()
      #expect(!words.contains("6F7468657273"))
    }
  }

  @Test("A message from the archive has the cursor 0, which precedes all events.")
  func cursors() async throws {
    try await keep([message("old", at: 1)], from: nil)
    try await keep([message("new", at: 2)], from: 7)
    var cursors: [Int64] = []
    try #require(try LocalHistory(path: path)).read(HistoryQuery(account: "a@b")) {
      cursors.append($0.cursor)
    }
    #expect(cursors == [0, 7])
    let replayed = try await LocalStore(path: path).replay(after: 0, until: 100, account: nil).events
    #expect(replayed.map(\.cursor) == [7])
  }

  @Test("Ten thousand messages with the same time keep their order.")
  func many() async throws {
    let texts = (1...10_000).map { "message number \($0)" }
    try await keep(texts.map { message($0, at: 77) })
    #expect(try bodies(limit: .max) == texts)
    #expect(try bodies(nil, "number", "4711") == ["message number 4711"])
  }

  @Test("The history can be read while an agent is writing, and after an agent was killed.")
  func beside() async throws {
    try await keep([message("1")])
    let store = try LocalStore(path: path)
    let seen = try await store.database.write { database in
      _ = try message("2").insert("a@b", cursor: 2, database)
      return try bodies()
    }
    #expect(seen == ["1"])
    #expect(try bodies() == ["1", "2"])
    // What is in the log alone, as a crash leaves it.
    let copy = try TemporaryDirectory()
    for suffix in ["", "-wal"] {
      let bytes = try #require(try FileDescriptor(opening: path + suffix, O_RDONLY).read(limit: 1 << 24))
      let file = try FileDescriptor(opening: copy.path + "/copy" + suffix, O_WRONLY | O_CREAT)
      try file.write(bytes)
    }
    var count = 0
    try #require(try LocalHistory(path: copy.path + "/copy")).read(HistoryQuery(account: "a@b")) { _ in
      count += 1
    }
    #expect(count == 2)
  }
}
