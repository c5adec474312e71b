import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Conversations that the devices of an account share", .serialized, .timeLimit(.minutes(10)))
struct ConversationTests {
  /// Two devices of one account that are online, and watch what happens to conversations and contacts.
  private struct Pair {
    let user: User
    let other: IMCTL
    let here: ChildProcess
    let there: ChildProcess

    init(_ kind: TestServer.Kind, server: TestServer? = nil) async throws {
      user = try await User(on: kind, server: server)
      other = try await IMCTL()
      try await user.goOnline()
      let second = User(user, imctl: other)
      try await second.goOnline()
      here = try await user.watch("conversation,contact,message")
      there = try await second.watch("conversation,contact,message")
    }

    func end() async throws {
      here.send(SIGINT)
      there.send(SIGINT)
      try await user.imctl.end()
      try await other.end()
    }
  }

  @Test(
    "Reading, pinning, muting, marking, clearing and deleting a conversation takes effect on the other device.",
    arguments: TestServer.Kind.allCases)
  func shared(kind: TestServer.Kind) async throws {
    let pair = try await Pair(kind)
    let (user, other) = (pair.user, pair.other)
    let bob = try await Neighbourhood.counterpart(kind)
    let peer = "bob@\(TestServer.domain)"
    let markers = bob.messages.count
    for text in ["one", "two"] { try bob.send(text, to: user.jid) }
    for watch in [pair.here, pair.there] { try await watch.messages(2) }
    #expect(try await user.imctl.conversations().map(\.unread) == [2])
    #expect(try await other.conversations() == (try await user.imctl.conversations()))

    #expect(try await other.change("read", peer) == Change(jid: peer, action: "read", published: true))
    try await pair.here.conversation { $0.last == "read other-device" }
    #expect(try await user.imctl.conversations().map(\.unread) == [0])
    #expect(try await other.change("read", peer).action == nil)
    // Nobody else hears of it.
    #expect(bob.messages.count == markers)

    #expect(try await other.change("pin", peer).published)
    try await pair.here.conversation { $0.last?.hasPrefix("pinned ") == true }
    #expect(try await other.change("mute", peer).published)
    try await pair.here.conversation { $0.last?.hasPrefix("mute ") == true }
    #expect(try await other.change("mark", peer, "+work", "+\u{202e}x").published)
    try await pair.here.conversation { $0.last?.hasPrefix("mark ") == true }
    let device = try #require(pair.here.conversationEvents.last?.by)
    #expect(device != ConversationEvent.otherDevice && device != ConversationEvent.own)
    #expect(pair.there.conversationEvents.allSatisfy { $0.by == ConversationEvent.own })
    let set = try #require(try await user.imctl.conversations().first)
    #expect(set.pinned && set.muted && set.marks.sorted() == ["work", "\u{202e}x"] && set.jid == peer)
    #expect(set.last?.body == "two")
    let text = try await user.imctl.run("conversations", "list").output
    #expect(text.hasPrefix("\t\(peer)\t\tpinned, muted, +") && !text.contains("\u{202e}"), "\(text)")

    #expect(try await user.imctl.change("mark", peer, "--", "-\u{202e}x").published)
    #expect(try await user.imctl.change("unpin", peer).action == "unpinned")
    #expect(try await user.imctl.change("unmute", peer).action == "unmute")
    try await pair.there.conversation { $0.last?.hasPrefix("unmute ") == true }
    #expect(try await other.conversations().map(\.marks) == [["work"]])

    #expect(try await user.imctl.change("clear", peer).action == "historyRemoved")
    try await pair.there.conversation { $0.last?.hasPrefix("historyRemoved ") == true }
    for device in [user.imctl, other] {
      #expect(try await device.run("history", "--json", peer).output == "")
      #expect(try await device.conversations().map(\.last) == [nil])
    }
    try bob.send("three", to: user.jid)
    for watch in [pair.here, pair.there] { try await watch.messages(3) }
    #expect(try await other.conversations().map(\.unread) == [1])
    #expect(try await other.change("delete", peer).action == "delete")
    try await pair.here.conversation { $0.last?.hasPrefix("delete ") == true }
    for device in [user.imctl, other] { #expect(try await device.conversations() == []) }
    try bob.send("four", to: user.jid)
    for watch in [pair.here, pair.there] { try await watch.messages(4) }
    #expect(try await user.imctl.conversations().map(\.marks) == [[]])
    // What was told is told again.
    let first = try #require(try pair.here.events().first)
    let again = try await user.imctl.start(
      ["watch", "--json", "--events", "conversation", "--since", String(first.cursor)])
    try await again.conversation { $0.last?.hasPrefix("delete ") == true }
    #expect(again.conversationEvents == pair.here.conversationEvents)
    again.send(SIGINT)
    try await pair.end()
  }

  @Test(
    "A room is pinned and muted in its bookmark, and other data in that bookmark is preserved.",
    arguments: TestServer.Kind.allCases)
  func bookmark(kind: TestServer.Kind) async throws {
    let pair = try await Pair(kind)
    let (user, other) = (pair.user, pair.other)
    let node = "urn:xmpp:bookmarks:1"
    let tablet = try await user.foreignDevice("tablet", interests: [node])
    let room = "theplay@rooms.\(TestServer.domain)"
    let foreign = "<state xmlns='urn:example:other' minimized='true'><deep>&lt;x&gt;</deep></state>"
    func publish(_ extensions: String) throws {
      try tablet.send(
        xml: """
          <iq type='set' id='bookmark'><pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='\(node)'>\
          <item id='\(room)'><conference xmlns='\(node)' name='The Play' autojoin='false'><nick>JC</nick>\
          <extensions>\(foreign)\(extensions)</extensions></conference></item></publish><publish-options>\
          <x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE' type='hidden'>\
          <value>http://jabber.org/protocol/pubsub#publish-options</value></field>\
          <field var='pubsub#persist_items'><value>true</value></field>\
          <field var='pubsub#access_model'><value>whitelist</value></field></x></publish-options></pubsub></iq>
          """)
    }
    /// Waits until the other client is told of the bookmark with, and without, these elements.
    func sees(_ words: [String], not missing: [String] = []) async throws {
      try await eventually("the bookmark with \(words)") {
        guard let xml = tablet.stanzas.last(where: { $0.xml.contains(room) })?.xml else { return false }
        return (words + ["minimized=\"true\"", "&lt;x&gt;", "The Play", "JC"]).allSatisfy(xml.contains)
          && !missing.contains(where: xml.contains)
      }
    }
    let (pinned, muted) = ("urn:xmpp:bookmarks-pinning:0", "<never")
    try publish("<pinned xmlns='\(pinned)'/>")
    for watch in [pair.here, pair.there] {
      try await watch.conversation { $0 == ["pinned other-device"] }
    }
    #expect(try await user.imctl.change("mute", room) == Change(jid: room, action: "mute", published: true))
    try await sees([pinned, muted])
    try await pair.there.conversation { $0.last == "mute other-device" }
    for device in [user.imctl, other] {
      let listed = try #require(try await device.conversations().first)
      #expect(listed.pinned && listed.muted && !listed.pending && listed.jid == room)
    }
    #expect(try await other.change("unpin", room).published)
    try await sees([muted], not: [pinned])
    try await pair.here.conversation { $0.last == "unpinned other-device" }
    try publish("<notify xmlns='urn:xmpp:notification-settings:1'><always/></notify>")
    for watch in [pair.here, pair.there] {
      try await watch.conversation { $0.last == "unmute other-device" }
    }
    #expect(try await user.imctl.change("pin", room).published)
    try await sees([pinned, "<always"], not: [muted])
    try await pair.there.conversation { $0.last == "pinned other-device" }
    #expect(
      pair.here.conversationEvents.map(\.action.rawValue) == [
        "pinned", "mute", "unpinned", "unmute", "pinned",
      ])
    try await tablet.end()
    try await pair.end()
  }

  @Test(
    "A change to a conversation that is made offline reaches the other device after the next login.",
    arguments: TestServer.Kind.oneOfEach)
  func offline(kind: TestServer.Kind) async throws {
    let pair = try await Pair(kind)
    let (user, other) = (pair.user, pair.other)
    pair.there.send(SIGINT)
    #expect(try await other.run("logout").status == 0)
    let peer = "carol@\(TestServer.domain)"
    let pinned = try await other.run("conversations", "pin", peer)
    #expect(
      pinned.status == 0 && pinned.errors.contains("stored; the other devices will be told"), "\(pinned)")
    #expect(try await other.change("mark", peer, "+later").published == false)
    #expect(try await other.conversations().map(\.pending) == [true])
    #expect(try await user.imctl.change("mute", peer).published)
    try await User(user, imctl: other).goOnline()
    try await pair.here.conversation { $0.contains { $0.hasPrefix("mark ") } }
    try await eventually("both") {
      let here = try await user.imctl.conversations()
      return try await here == other.conversations() && here.first?.marks == ["later"]
        && here.first?.muted == true && here.first?.pinned == true
    }
    #expect(try await other.conversations().map(\.pending) == [false])
    let wrong = try await other.run("conversations", "pin", "@", "--json")
    #expect(wrong.status == 64)
    try await pair.end()
  }

  @Test(
    "A change to a conversation while the server is silent is published in the same session when it answers."
  )
  func silent() async throws {
    let server = try await TestServer(Neighbourhood.options(.prosody13))
    let pair = try await Pair(.prosody13, server: server)
    let peer = "carol@\(TestServer.domain)"
    try await server.freeze()
    let pinned = try await pair.user.imctl.run("conversations", "pin", peer, "--timeout", "1")
    #expect(pinned.status == 0 && pinned.errors.contains("told when the server answers again"), "\(pinned)")
    #expect(try await pair.user.imctl.change("mute", "--timeout", "1", peer).published == false)
    #expect(try await pair.user.imctl.conversations().map(\.pending) == [true])
    try await server.thaw()
    try await pair.there.conversation { $0.count == 2 && $0.allSatisfy { !$0.hasSuffix("self") } }
    try await eventually("nothing to tell") {
      try await pair.user.imctl.conversations().map(\.pending) == [false]
    }
    #expect(try await pair.other.conversations().map { $0.pinned && $0.muted } == [true])
    let status = try await pair.user.status()
    #expect(status.sessions == 1 && status.resumes == 0)
    try await pair.end()
    try await server.end()
  }

  @Test(
    "A contact request that one device declines disappears from the other device.",
    arguments: TestServer.Kind.allCases)
  func declined(kind: TestServer.Kind) async throws {
    let pair = try await Pair(kind, server: Village.server(kind))
    let (user, other) = (pair.user, pair.other)
    let stranger = try await Village.counterpart(kind)
    try stranger.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    for watch in [pair.here, pair.there] {
      try await watch.contacts { $0.last == "request contact" }
    }
    #expect(try await other.run("contacts", "deny", stranger.bareJID).status == 0)
    try await pair.here.contacts { $0.last == "decline other-device" }
    #expect(try await user.imctl.run("contacts", "requests").output == "")
    try await pair.end()
  }

  @Test(
    "The history lists a corrected message once with its latest text, and search finds no retracted message.",
    arguments: TestServer.Kind.oneOfEach)
  func retracted(kind: TestServer.Kind) async throws {
    let pair = try await Pair(kind)
    let user = pair.user
    let bob = try await Neighbourhood.counterpart(kind)
    func send(_ content: String, _ id: String) throws {
      try bob.send(xml: "<message to='\(user.jid)' type='chat' id='\(id)'>\(content)</message>")
    }
    try send("<body>an embarrassing pineapple</body>", "regret-000-\(user.name)")
    try send("<body>anything else</body>", "regret-001-\(user.name)")
    try await pair.here.messages(2)
    #expect(try await user.imctl.run("history", "--search", "pineapple").output.contains("pineapple"))
    try send(
      "<retract xmlns='urn:xmpp:message-retract:1' id='regret-000-\(user.name)'/><body>gone</body>",
      "regret-002")
    try await pair.here.messages(3)
    #expect(try await user.imctl.run("history", "--search", "pineapple").output == "")
    let history = try await user.imctl.run("history", "--json").objects(Event.self).compactMap(\.message)
    #expect(history.map(\.body) == [nil, "anything else", nil])
    #expect(history.map(\.retracted) == [true, nil, nil])
    #expect(try await user.imctl.conversations().map(\.unread) == [1])
    try send(
      "<replace xmlns='urn:xmpp:message-correct:0' id='regret-001-\(user.name)'/><body>/me regrets</body>",
      "regret-003")
    try await pair.here.messages(4)
    let shown = try await user.imctl.run("history").lines
    #expect(shown.count == 2)
    #expect(shown.first?.hasSuffix("\t(retracted) ") == true)
    #expect(shown.last?.hasSuffix("\t(edited) * bob regrets") == true)
    #expect(try await user.imctl.run("conversations", "list").output.hasSuffix(" regrets\n"))
    #expect(try await user.imctl.run("history", "--json").objects(Event.self).count == 4)
    try send(
      "<retract xmlns='urn:xmpp:message-retract:1' id='regret-001-\(user.name)'/><body>gone</body>",
      "regret-004")
    try await pair.here.messages(5)
    #expect(try await user.imctl.run("conversations", "list").output.hasSuffix("\t(retracted) \n"))
    try await pair.end()
  }
}

/// What `conversations list --json` prints.
private struct Listed: Decodable, Equatable {
  var jid: String
  var unread: Int
  var pinned: Bool
  var muted: Bool
  var marks: [String]
  var pending: Bool
  var last: Last?
  struct Last: Decodable, Equatable {
    var body: String?
    var stanzaId: String?
  }
}

/// What a change prints with `--json`.
private struct Change: Decodable, Equatable {
  var jid: String
  var action: String?
  var published: Bool
}

extension IMCTL {
  fileprivate func conversations() async throws -> [Listed] {
    try await run("conversations", "list", "--json").objects(Listed.self)
  }

  fileprivate func change(_ arguments: String...) async throws -> Change {
    let result = try await run(
      ["conversations"] + arguments.prefix(1) + ["--json"] + arguments.dropFirst())
    guard let change = try result.objects(Change.self).first else { throw TestSupportError("\(result)") }
    return change
  }
}

extension ChildProcess {
  fileprivate var conversationEvents: [ConversationEvent] {
    ((try? events()) ?? []).compactMap { if case .conversation(let change) = $0.body { change } else { nil } }
  }

  /// Waits for changes of conversations, as `pinned self`.
  fileprivate func conversation(_ holds: @escaping @Sendable ([String]) -> Bool) async throws {
    try await output.first("a change of a conversation") { _ in
      let told = self.conversationEvents.map { "\($0.action.rawValue) \($0.by)" }
      return holds(told) ? () : nil
    }
  }
}
