import AgentProtocol
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Messages that arrive while no device is online", .serialized, .timeLimit(.minutes(10)))
struct WaitingMessagesTests {
  /// A server whose friends are few: nobody is told of everybody.
  private func server(
    _ kind: TestServer.Kind, hasQueue: Bool = true, archiveInSQLite: Bool = false
  ) async throws -> TestServer {
    var options = Neighbourhood.options(kind)
    options.friends = []
    options.archiveInSQLite = archiveInSQLite && !kind.isProsody
    if !hasQueue { options.withoutModules = kind.isProsody ? ["offline"] : ["mod_offline"] }
    return try await TestServer(options)
  }

  private func messages(_ imctl: IMCTL, _ arguments: String...) async throws -> [MessageEvent] {
    let result = try await imctl.run(["history", "--json", "--limit", "0"] + arguments)
    guard result.status == 0 else { throw TestSupportError("history: \(result)") }
    return try result.objects(Event.self).compactMap(\.message)
  }

  private struct Listed: Decodable {
    var jid: String
    var unread: Int
  }

  private func unread(_ imctl: IMCTL, with jid: String) async throws -> Int? {
    try await imctl.run("conversations", "list", "--json").objects(Listed.self)
      .first { $0.jid == jid }?.unread
  }

  private func send(_ texts: [String], from bob: Counterpart, to user: User) async throws {
    for part in stride(from: 0, to: texts.count, by: 200) {
      let some = texts[part..<min(part + 200, texts.count)]
      try bob.send(
        xml: some.map { "<message to='\(user.jid)' type='chat'><body>\($0)</body></message>" }.joined())
      try await bob.settled()
    }
  }

  @Test(
    "Waiting messages are reported at a device's first login, stored, and unread until somebody reads them.",
    .namesServer,
    arguments: [true, false])
  func firstLogin(hasQueue: Bool) async throws {
    await Everywhere.run { kind in
      let server = try await server(kind, hasQueue: hasQueue)
      let user = try await User(on: kind, server: server)
      let bob = try await Counterpart("bob", on: server)
      let sender = server.jid("bob")
      let texts = ["one", "two", "three"]
      try await send(texts, from: bob, to: user)
      try await user.goOnline()
      #expect(try await messages(user.imctl).map(\.body) == texts)
      #expect(try await unread(user.imctl, with: sender) == 3)
      let told = try await user.imctl.watch("--events", "message", "--since", "0")
      try await told.messages(3)
      #expect(try told.events().compactMap(\.message?.body) == texts)
      told.send(SIGINT)

      #expect(try await user.imctl.run("conversations", "read", sender).status == 0)
      #expect(try await user.imctl.run("send", sender, "an answer").status == 0)
      #expect(try await user.imctl.run("logout").status == 0)
      try await send(["four"], from: bob, to: user)
      let other = User(user, imctl: try await IMCTL())
      try await other.goOnline()
      // What was read before, and what the account has sent, is no news.
      let all = texts + ["an answer", "four"]
      #expect(try await messages(other.imctl).compactMap(\.body).sorted() == all.sorted())
      #expect(try await unread(other.imctl, with: sender) == 1)
      #expect(try await other.imctl.run("logout").status == 0)
      try await bob.end()
      try await server.end()
    }
  }

  @Test(
    "Hundreds of waiting messages have all arrived when a login returns, be it the first or a later one.",
    .namesServer)
  func many() async throws {
    await Everywhere.run { kind in
      let server = try await server(kind, archiveInSQLite: true)
      let user = try await User(on: kind, server: server)
      let bob = try await Counterpart("bob", on: server)
      var texts = (1...800).map { "first \($0)" }
      try await send(texts, from: bob, to: user)
      try await user.goOnline()
      #expect(try await messages(user.imctl).compactMap(\.body) == texts)
      #expect(try await user.imctl.run("logout").status == 0)

      let more = (1...800).map { "second \($0)" }
      try await send(more, from: bob, to: user)
      texts += more
      let watch = try await user.watch("synced")
      let login = try await user.login("--json")
      #expect(try await messages(user.imctl).compactMap(\.body) == texts)
      let changes = try login.objects(Event.self)
      let counts = changes.compactMap { if case .state(let change) = $0.body { change.counts } else { nil } }
        .last
      // Whichever way they came.
      #expect((counts?[.offline] ?? 0) + (counts?[.roaming] ?? 0) == 800, "\(counts ?? [:])")
      let ends = try watch.events().compactMap { event in
        if case .synced(let part) = event.body { part.part } else { nil }
      }
      #expect(Set(ends) == Set(SyncPart.allCases) && ends.count == SyncPart.allCases.count)
      watch.send(SIGINT)
      #expect(try await user.imctl.run("logout").status == 0)
      try await bob.end()
      try await server.end()
    }
  }
}
