import AgentProtocol
import GRDB
import TestSupport
import Testing

@testable import AgentStore

@Suite("Messages that were corrected or retracted", .timeLimit(.minutes(4)))
struct FoldedMessageTests {
  private let directory: TemporaryDirectory
  private let store: LocalStore

  init() throws {
    directory = try TemporaryDirectory()
    store = try LocalStore(path: directory.paths.database)
  }

  private func message(
    _ body: String?, _ id: String?, replaces: String? = nil, retracts: String? = nil,
    by sender: String = "b@c",
    to recipient: String = "a@b", isNamed: Bool = false
  ) -> StoredMessage {
    var message = StoredMessage(
      direction: sender == "a@b" ? .sent : .received, sender: sender, time: 0, id: id,
      originID: isNamed ? id : nil, from: sender, to: recipient, type: .chat, body: body)
    message.replaces = replaces
    message.retracts = retracts
    return message
  }

  /// A second lies between any two of the messages; the first is of second 1.
  private func keep(_ messages: [StoredMessage], from cursor: Int64 = 1, of account: String = "a@b")
    async throws
  {
    try await store.change { database in
      for (index, message) in messages.enumerated() {
        var message = message
        message.time = Double(index + 1)
        _ = try message.insert(account, cursor: cursor + Int64(index), database)
      }
    }
  }

  /// What the text of the history has: the bodies, with marks behind them.
  private func shown(_ change: (inout HistoryQuery) -> Void = { _ in }) throws -> [String] {
    var query = HistoryQuery(account: "a@b")
    query.isFolded = true
    change(&query)
    var shown: [String] = []
    let history = try #require(try LocalHistory(path: directory.paths.database))
    try history.read(query, newestFirst: !query.words.isEmpty) { event in
      guard let message = event.message else { return }
      let mark = message.retracted == true ? " (retracted)" : message.edited == true ? " (edited)" : ""
      shown.append((message.body ?? "-") + mark)
    }
    return shown
  }

  private func last() async throws -> [MessageEvent?] {
    try await store.read { try StoredConversations.list("a@b", $0).map { $0.last?.message } }
  }

  @Test("A corrected message is shown once, in its original place, with its latest text.")
  func corrected() async throws {
    try await keep([
      message("helo", "1"), message("other", "2", isNamed: true), message("hello", "3", replaces: "1"),
      message("othre", "4", replaces: "2"), message("hello!", "5", replaces: "1"),
    ])
    #expect(try shown() == ["hello! (edited)", "othre (edited)"])
    #expect(try shown { $0.limit = 1 } == ["othre (edited)"])
    #expect(try shown { $0.before = 2 } == ["hello! (edited)"])
    let last = try await last()
    #expect(last.map(\.?.body) == ["othre"] && last.map(\.?.edited) == [true] && last.map(\.?.id) == ["2"])
  }

  @Test("A retracted message is shown as retracted, without its retraction and its corrections.")
  func retracted() async throws {
    try await keep([
      message("first", "1"), message("helo", "2"), message("hello", "3", replaces: "2"),
      message(nil, "4", retracts: "2"),
    ])
    #expect(try shown() == ["first", "- (retracted)"])
    let last = try await last()
    #expect(last.map(\.?.retracted) == [true] && last.map(\.?.id) == ["2"])
    try await keep([message(nil, "5", retracts: "1")], from: 20)
    #expect(try shown() == ["- (retracted)", "- (retracted)"])
  }

  @Test(
    "A search finds the latest text of a message in its original place, and respects the limit of results."
  )
  func search() async throws {
    try await keep([
      message("old pear", "1"), message("plain pear", "2"), message("old apple", "3"),
      message("new pear", "4", replaces: "3"), message("new plum", "5", replaces: "1"),
      message("newer pear", "6", replaces: "3"),
    ])
    #expect(try shown { $0.words = ["pear"] } == ["newer pear (edited)", "plain pear"])
    #expect(try shown { ($0.words, $0.limit) = (["pear"], 2) } == ["newer pear (edited)", "plain pear"])
    #expect(try shown { ($0.words, $0.limit) = (["pear"], 1) } == ["newer pear (edited)"])
    #expect(try shown { $0.words = ["old"] }.isEmpty)
    #expect(try shown { $0.words = ["plum"] } == ["new plum (edited)"])
  }

  @Test(
    "Corrections of corrections are followed, and so are corrections with the id of the message that they correct."
  )
  func chains() async throws {
    try await keep([
      message("a1", "1"), message("a2", "2", replaces: "1"), message("a3", "3", replaces: "2"),
      message("b1", "4"), message("b2", "4", replaces: "4"), message("b3", "4", replaces: "4"),
    ])
    #expect(try shown() == ["a3 (edited)", "b3 (edited)"])
    #expect(try shown { $0.words = ["b3"] } == ["b3 (edited)"])
  }

  @Test(
    "A correction applies to the last earlier message with its id from the same sender in the same conversation."
  )
  func others() async throws {
    try await keep([
      message("x1", "x"), message("x2", "x"), message("x2!", "1", replaces: "x"), message("x3", "x"),
      message("mine", "m", by: "a@b", to: "b@c", isNamed: true),
      message("for d", "2", replaces: "m", by: "a@b", to: "d@e", isNamed: true),
      message("not b's", "3", replaces: "m"), message("too early", "4", replaces: "5"), message("late", "5"),
    ])
    #expect(
      try shown() == [
        "x1", "x2! (edited)", "x3", "mine", "for d (edited)", "not b's (edited)", "too early (edited)",
        "late",
      ])
    try await keep([message("another account's", "9", replaces: "x")], from: 30, of: "f@g")
    #expect(try shown().count == 8)
  }

  @Test("A correction of a message that is hidden is shown as a message of its own.")
  func cleared() async throws {
    try await keep([message("helo", "1"), message("hello", "2", replaces: "1")])
    try await store.change { database in
      var conversation = StoredConversation()
      conversation.settings.hiddenBefore = 1.5
      try conversation.save("b@c", of: "a@b", database)
    }
    #expect(try shown() == ["hello (edited)"])
  }

  @Test("The number of messages of a thread is the number that its history shows.")
  func threads() async throws {
    var messages = [message("helo", "1"), message("hello", "2", replaces: "1"), message("next", "3")]
    for index in messages.indices { messages[index].thread = "t" }
    try await keep(messages)
    let threads = try StoredThreads.list("a@b", with: nil, limit: 9, at: directory.paths.database)
    #expect(threads.map(\.messages) == [2])
    #expect(try shown { $0.thread = "t" } == ["hello (edited)", "next"])
  }

  @Test(
    "Ten thousand corrections of one message, or of one another, cause no delay.", arguments: [false, true])
  func many(isChain: Bool) async throws {
    var messages = [message("0", "0")]
    for number in 1...10_000 {
      messages.append(message("\(number)", "\(number)", replaces: isChain ? "\(number - 1)" : "0"))
    }
    try await keep(messages)
    #expect(try shown() == [isChain ? "50 (edited)" : "10000 (edited)"])
    #expect(try await last().map(\.?.edited) == [true])
  }
}

extension Event {
  fileprivate var message: MessageEvent? {
    if case .message(let message) = body { message } else { nil }
  }
}
