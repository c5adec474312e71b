import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The history", .serialized, .timeLimit(.minutes(16)))
struct HistoryTests {
  private func bodies(_ user: User, _ arguments: String...) async throws -> [String] {
    let result = try await user.imctl.run(["history", "--json"] + arguments)
    guard result.status == 0 else { throw TestSupportError("history: \(result)") }
    return try result.objects(Event.self).compactMap { $0.message?.body }
  }

  @Test("The history lists sent and received messages, can be searched, and needs neither agent nor server.")
  func offline() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    let watch = try await user.watch("message")
    try bob.send("red apples, green pears", to: user.jid)
    try await watch.messages(1)
    #expect(try await user.imctl.run("send", bob.jid, "green apples\u{1b}[31m").status == 0)
    try bob.send("nothing of the kind", to: user.jid)
    try await watch.messages(3)
    watch.send(SIGINT)
    // Beside the agent, and after it.
    for isOnline in [true, false] {
      if !isOnline {
        #expect(try await user.imctl.run("agent", "stop").status == 0)
        try await user.agentEnded()
      }
      let all = ["red apples, green pears", "green apples\u{1b}[31m", "nothing of the kind"]
      #expect(try await bodies(user) == all)
      #expect(try await bodies(user, bob.jid) == all)
      #expect(try await bodies(user, "nobody@\(TestServer.domain)").isEmpty)
      #expect(try await bodies(user, "--search", "APPLES green") == [all[1], all[0]])
      #expect(try await bodies(user, "--search", "apples'; DROP TABLE messages").isEmpty)
      #expect(try await bodies(user, "--limit", "1") == [all[2]])
      #expect(try await bodies(user, "--before", "1h").isEmpty)
      #expect(try await bodies(user, "--after", "1h") == all)
      let text = try await user.imctl.run("history", "--limit", "2").output.split(separator: "\n")
      let bare = "bob@\(TestServer.domain)"
      #expect(text.count == 2)
      #expect(text.first?.hasSuffix("\tyou → \(bare)\tgreen apples\\x1b[31m") == true, "\(text)")
      #expect(text.last?.hasSuffix("\t\(bare)\tnothing of the kind") == true, "\(text)")
      #expect(try await user.imctl.processes().isEmpty == !isOnline)
    }
    #expect(try await user.imctl.run("history", "--sync").status == 67)
    #expect(try await user.imctl.run("account", "remove", user.jid).status == 0)
    #expect(try await user.imctl.run("history", "--account", user.jid).output.isEmpty)
  }

  @Test(
    "A new device fetches older history from the archive on demand, and lists each message once.",
    arguments: TestServer.Kind.allCases)
  func sync(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let count = 150
    let texts = (1...count).map { "number \($0)" }
    try await user.goOnline()
    let watch = try await user.watch("message")
    try bob.send(
      xml: texts.map { "<message to='\(user.jid)' type='chat'><body>\($0)</body></message>" }.joined())
    try await watch.messages(count)
    watch.send(SIGINT)
    #expect(try await user.imctl.run("send", user.jid, "a note").status == 0)
    // What one device has displayed is no news to another.
    for jid in [bob.bareJID, user.jid] {
      #expect(try await user.imctl.run("conversations", "read", jid).status == 0)
    }
    #expect(try await user.imctl.run("logout").status == 0)

    let other = User(user, imctl: try await IMCTL())
    try await other.goOnline()
    let news = try await other.watch("message")
    // What is read of the archive at first is past, of which no event tells.
    try await eventually("the last days") { try await bodies(other, "--limit", "0").count == count + 1 }
    #expect(try await bodies(other, bob.jid, "--sync", "--limit", "120") == Array(texts.suffix(120)))
    #expect(try await bodies(other, bob.jid, "--sync", "--limit", "0") == texts)
    // What comes first in a second is not what such an archive tells.
    #expect(try await bodies(other, "--sync", "--limit", "0").sorted() == (texts + ["a note"]).sorted())
    #expect(try await bodies(other, "--search", "number 77") == ["number 77"])
    // None of it is news.
    try bob.send("live", to: other.jid)
    try await news.messages(1)
    #expect(try news.events().map(\.message?.body) == ["live"])
    news.send(SIGINT)
    // An agent that has just begun is about to log in.
    #expect(try await other.imctl.run("agent", "restart").status == 0)
    #expect(try await bodies(other, bob.jid, "--sync").last == "live")
    #expect(try await other.imctl.run("logout").status == 0)
  }

  @Test(
    "The history of a new device lists no retracted text, however long ago the retraction was sent.",
    arguments: TestServer.Kind.allCases)
  func retracted(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let name = user.name
    func send(_ content: String, _ id: String) throws {
      try bob.send(xml: "<message to='\(user.jid)' type='chat' id='\(id)-\(name)'>\(content)</message>")
    }
    func retract(_ id: String, _ own: String) throws {
      try send(
        "<retract xmlns='urn:xmpp:message-retract:1' id='\(id)-\(name)'/><body>gone</body>"
          + "<store xmlns='urn:xmpp:hints'/>", own)
    }
    func correct(_ id: String, _ own: String, _ body: String) throws {
      try send(
        "<body>\(body)</body><replace xmlns='urn:xmpp:message-correct:0' id='\(id)-\(name)'/>", own)
    }
    try await user.goOnline()
    let watch = try await user.watch("message")
    try send("<body>pineapple</body>", "regretted")
    try send("<body>pear</body>", "kept")
    for number in 1...120 { try send("<body>number \(number)</body>", "number-\(number)") }
    try correct("regretted", "corrected", "pineapple pie")
    try correct("kept", "better", "pears")
    try correct("nothing", "loose", "plums")
    try retract("regretted", "taken-back")
    try await watch.messages(126)
    watch.send(SIGINT)
    let other = User(user, imctl: try await IMCTL())
    try await other.goOnline()
    // As above.
    try await eventually("the last days") { try await bodies(other, "--limit", "0").contains("plums") }
    let news = try await other.watch("message")
    try retract("number-1", "late")
    try send("<body>the end</body>", "end")
    try await news.messages(2)
    #expect(try news.events().map(\.message?.retracts) == ["number-1-\(name)", nil])
    news.send(SIGINT)
    #expect(try await bodies(other, "--sync", "--limit", "0", bob.jid).contains("number 2"))
    let history = try await other.imctl.run("history", "--json", "--limit", "0").objects(Event.self)
      .compactMap(\.message)
    let said = history.compactMap(\.body)
    #expect(
      said.sorted() == (["pear", "pears", "plums", "the end"] + (2...120).map { "number \($0)" }).sorted())
    // This one has taken them out of its archive by itself.
    #expect(history.count { $0.retracted == true } == (kind == .ejabberd24 ? 2 : 3))
    #expect(history.first { $0.body == "pears" }?.replaces == "kept-\(name)")
    #expect(history.first { $0.body == "plums" }.map { $0.replaces == nil } == true)
    #expect(try await other.imctl.run("history", "--search", "pineapple").output == "")
    #expect(try await other.imctl.run("logout").status == 0)
    #expect(try await user.imctl.run("logout").status == 0)
  }

  @Test(
    "The history lists thousands of messages that arrived while the account was offline, each of them once.",
    arguments: TestServer.Kind.allCases)
  func away(kind: TestServer.Kind) async throws {
    var options = Neighbourhood.options(kind)
    options.friends = []
    options.archiveInSQLite = true
    let server = kind.isProsody ? try await Neighbourhood.server(kind) : try await TestServer(options)
    let user = try await User(on: kind, server: server)
    let bob = try await Counterpart("bob", on: server)
    try await user.goOnline()
    let watch = try await user.watch("message")
    try bob.send("before", to: user.jid)
    try await watch.messages(1)
    let cursor = try #require(try watch.events().first?.cursor)
    watch.send(SIGINT)
    #expect(try await user.imctl.run("logout").status == 0)
    // The older releases take long to keep so many.
    let count = [.prosody13, .ejabberd24].contains(kind) ? 10_000 : 2000
    let texts = (1...count).map { "number \($0)" }
    for part in stride(from: 0, to: texts.count, by: 250) {
      let messages = texts[part..<part + 250].map {
        "<message to='\(user.jid)' type='chat'><body>\($0)</body></message>"
      }
      try bob.send(xml: messages.joined())
      // The counterpart's own queue is not what is tested.
      try await bob.settled()
    }
    try await user.goOnline()
    // From the archive, of whose past no event tells, and many of them as offline messages, too. The time limit of the
    // suite is the only one.
    while try await user.imctl.run("history", "--search", "number \(count)").output.isEmpty {
      try await Task.sleep(for: .milliseconds(300))
    }
    while try await user.imctl.run("history", "--limit", "0").output.utf8.count(where: { $0 == 0x0a })
      <= texts.count
    {
      try await Task.sleep(for: .milliseconds(300))
    }
    #expect(try await user.imctl.run("send", user.jid, "the end").status == 0)
    let events = try await user.imctl.run("history", "--json", "--limit", "0").objects(Event.self)
    #expect(events.compactMap(\.message?.body).sorted() == (["before", "the end"] + texts).sorted())
    // All of it is news to who has seen what was before.
    #expect(events.allSatisfy { $0.cursor > cursor || $0.message?.body == "before" })
    #expect(try await user.imctl.run("logout", "--forget").status == 0)
    try await bob.end()
    if !kind.isProsody { try await server.end() }
  }
}
