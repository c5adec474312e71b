import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Messages", .serialized, .timeLimit(.minutes(10)))
struct MessageTests {
  @Test(
    "The command send ends when the server has acknowledged the message, which arrives at another client.",
    arguments: TestServer.Kind.allCases)
  func sent(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let result = try await user.imctl.run("send", bob.jid, "hello \(user.name)", "--json")
    #expect(result.status == 0, "\(result)")
    let outcome = try #require(try result.objects(MessageSendMethod.Outcome.self).first)
    #expect(outcome.state == .sent)
    let message = try await bob.message { $0.body == "hello \(user.name)" }
    #expect(message.id == outcome.id)
    #expect(message.from.hasPrefix(user.jid + "/"))
    #expect(!message.delayed)
    // Under its id it is sent once.
    let again = ["send", bob.jid, "hello \(user.name)", "--id", outcome.id]
    #expect(try await user.imctl.run(again).status == 0)
    #expect(try await user.imctl.run("send", bob.jid, "something else", "--id", outcome.id).status == 64)
    try await bob.settled()
    #expect(bob.bodies(of: user) == ["hello \(user.name)"])
  }

  @Test(
    "A received message is reported once, and again to a watcher that starts at an earlier cursor.",
    arguments: TestServer.Kind.allCases)
  func received(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let watch = try await user.watch("message")
    for number in 1...3 { try bob.send("number \(number)", to: user.jid) }
    try await watch.messages(3)
    let events = try watch.events()
    #expect(events.map(\.message?.body) == ["number 1", "number 2", "number 3"])
    #expect(events.map(\.message?.direction) == [.in, .in, .in])
    #expect(events.allSatisfy { $0.message?.from?.hasPrefix("bob@") == true && $0.message?.stanzaId != nil })
    watch.send(SIGINT)
    let again = try await user.imctl.start(
      ["watch", "--events", "message", "--json", "--since", String(events[0].cursor)])
    try await again.messages(2)
    #expect(try again.events() == Array(events[1...]))
    again.send(SIGINT)
  }

  @Test(
    "A message that exceeds the parser's limits neither ends the session nor blocks the next message.",
    arguments: TestServer.Kind.allCases)
  func excess(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let deep = String(repeating: "<a>", count: 1000) + String(repeating: "</a>", count: 1000)
    let wide = "<a \((0..<300).map { "a\($0)=''" }.joined(separator: " "))/>"
    let long = "<a b='\(String(repeating: "x", count: 100_000))'/>"
    let watch = try await user.watch("message")
    func arrives(_ text: String, behind excess: String) async throws {
      let start = "<message to='\(user.jid)' type='chat'><body>"
      try bob.send(
        xml:
          "\(start)too much</body><x xmlns='urn:example'>\(excess)</x></message>\(start)\(text)</body></message>"
      )
      try await bob.settled()
      if text == "later" { try await user.goOnline() }
      try await watch.output.first(text) { _ in
        try watch.events().contains { $0.message?.body == text } ? () : nil
      }
    }
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    try await arrives("later", behind: deep)
    try await arrives("at once", behind: wide)
    try await arrives("at last", behind: long)
    #expect(try await user.status().sessions <= 3)
    // Also where it is the newest.
    try bob.send(
      xml:
        "<message to='\(user.jid)' type='chat'><body>last</body><x xmlns='urn:example'>\(deep)</x></message>")
    try await bob.settled()
    // Another device finds it in the archive.
    let other = User(user, imctl: try await IMCTL())
    try await other.goOnline()
    // The first that comes ends its stream.
    try await eventually("all of it") {
      let result = try await other.imctl.run("history", "--sync", "--limit", "0", "--json")
      let bodies = try result.objects(Event.self).compactMap { $0.message?.body }
      return result.status == 0 && Set(bodies).isSuperset(of: ["later", "at once"])
    }
  }

  @Test("The lines of send --lines arrive in order.", arguments: TestServer.Kind.allCases)
  func lines(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let lines = (1...300).map { "line \($0)" }
    let result = try await user.imctl.run(
      "send", bob.jid, "--lines", "--json", input: lines.joined(separator: "\n"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(try result.objects(MessageSendMethod.Outcome.self).map(\.state) == lines.map { _ in .sent })
    try await bob.settled()
    #expect(bob.bodies(of: user) == lines)
    #expect(try await user.status().queued == 0)
  }

  @Test(
    "No line of send --lines is lost, doubled or reordered if the agent is killed in between.",
    arguments: TestServer.Kind.allCases)
  func killed(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let lines = (1...600).map { "line \($0)" }
    let send = try await user.imctl.start(["send", bob.jid, "--lines", "--json"])
    for part in 0..<3 {
      send.write(lines[part * 200..<(part + 1) * 200].joined(separator: "\n") + "\n")
      let wanted = part * 200 + 100
      try await send.output.first("\(wanted) lines") { $0.lines.count >= wanted ? () : nil }
      kill(try await user.agent(), SIGKILL)
    }
    send.closeInput()
    #expect(try await send.ended(within: .seconds(90)) == .exited(0), "\(send.errors.text)")
    #expect(send.output.lines.count == lines.count)
    try await bob.message { $0.body == lines.last && $0.from.hasPrefix(user.jid) }
    try await bob.settled()
    #expect(bob.bodies(of: user) == lines)
    let status = try await user.status()
    #expect(status.queued == 0)
    #expect(status.uncertain == 0)
  }

  @Test(
    "A message that is sent while no agent is running starts the agent and goes out once the account is online."
  )
  func beforeOnline() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await user.agentEnded()
    #expect(try await user.imctl.run("send", bob.jid, "early").status == 0)
    try await bob.message { $0.body == "early" }
    #expect(try await user.imctl.run("logout").status == 0)
    let late = try await user.imctl.run("send", bob.jid, "late", "--json")
    #expect(late.status == 67)
    #expect(try late.error.name == "notLoggedIn")
  }

  @Test(
    "Each device sees messages that the other one sends, and messages to the account, exactly once.",
    arguments: TestServer.Kind.allCases)
  func carbons(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let other = try await IMCTL()
    try await user.goOnline("--resource", "one")
    let login = try await other.run(
      ["login", user.jid, "--password-stdin", "--resource", "two"] + user.connection, input: user.password)
    #expect(login.status == 0)
    let watch = try await other.start(["watch", "--events", "message", "--json", "--since", "0"])
    let own = try await user.watch("message")
    try bob.send(
      xml: "<message type='chat' to='\(user.jid)/one'><received xmlns='urn:xmpp:carbons:2'>"
        + "<forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' type='chat' to='\(user.jid)/one' "
        + "from='boss@im.example/x'><body>forged</body></message></forwarded></received></message>")
    #expect(try await user.imctl.run("send", bob.jid, "from one").status == 0)
    try bob.send("to both", to: user.jid)
    for child in [watch, own] {
      try await child.messages(2)
      try await bob.settled()
      let messages = try child.events().compactMap(\.message)
      #expect(messages.map(\.body) == ["from one", "to both"])
      #expect(messages.map(\.direction) == [.out, .in])
    }
    let copied = try [watch, own].map { try $0.events().compactMap(\.message).map(\.carbon) }
    #expect(copied == [[true, false], [false, false]])
    watch.send(SIGINT)
    own.send(SIGINT)
    try await other.end()
  }

  @Test(
    "A message that arrives while the account is offline is reported once after the login.",
    arguments: TestServer.Kind.allCases)
  func away(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let cursor = try await user.watch("message")
    try bob.send("before", to: user.jid)
    try await cursor.messages(1)
    let before = try #require(try cursor.events().first)
    cursor.send(SIGINT)
    #expect(try await user.imctl.run("logout").status == 0)
    let bodies = (1...120).map { "away \($0)" }
    for body in bodies { try bob.send(body, to: user.jid) }
    try await bob.settled()
    try await user.goOnline()
    let watch = try await user.imctl.start(
      ["watch", "--events", "message", "--json", "--since", String(before.cursor)])
    try await watch.messages(bodies.count)
    try bob.send("after", to: user.jid)
    try await watch.messages(bodies.count + 1)
    let messages = try watch.events().compactMap(\.message)
    #expect(messages.compactMap(\.body).sorted() == (bodies + ["after"]).sorted())
    let kept = messages.filter { bodies.contains($0.body ?? "") }
    #expect(kept.map(\.delayed) == bodies.map { _ in true })
    watch.send(SIGINT)
  }

  @Test(
    "A message that cannot be sent is listed in the outbox, can be cancelled, and makes logout end with 87.")
  func unreachable() async throws {
    let server = try await TestServer(Neighbourhood.options(.prosody))
    let user = try await User(server: server)
    let bob = "bob@" + TestServer.domain
    try await user.goOnline()
    try await server.shutDown()
    try await eventually("the loss") { try await user.imctl.session()?.isOnline != true }
    let late = try await user.imctl.run("send", bob, "one", "--timeout", "0.3", "--json")
    #expect(late.status == 87)
    #expect(try late.objects(MessageSendMethod.Outcome.self).first?.state == .queued)
    for text in ["two", "three"] {
      #expect(try await user.imctl.run("send", bob, text, "--wait", "none", "--id", text).status == 0)
    }
    let list = try await user.imctl.run("outbox", "list", "--json")
    #expect(try list.objects(OutboxListMethod.Entry.self).map(\.body) == ["one", "two", "three"])
    #expect(try await user.imctl.run("outbox", "cancel", "two").output == "two cancelled\n")
    #expect(try await user.status().queued == 2)
    #expect(try await user.imctl.run("logout").status == 87)
    #expect(try await user.imctl.run("status").status == 1)
    try await server.start()
    let counterpart = try await Counterpart("bob", on: server)
    try await user.goOnline()
    try await counterpart.message { $0.body == "three" }
    #expect(counterpart.messages.map(\.body) == ["one", "three"])
    // And what is dropped is gone.
    try await server.freeze()
    #expect(try await user.imctl.run("send", bob, "four", "--wait", "none").status == 0)
    #expect(try await user.imctl.run("logout", "--flush", "0.2", "--force").status == 0)
    try await server.thaw()
    try await counterpart.end()
    try await user.imctl.end()
    try await server.end()
  }
}

extension Counterpart {
  /// The messages of a user, oldest first.
  func bodies(of user: User) -> [String] {
    messages.filter { $0.from.hasPrefix(user.jid + "/") }.map(\.body)
  }
}

extension Event {
  var message: MessageEvent? {
    if case .message(let message) = body { message } else { nil }
  }
}

extension ChildProcess {
  /// Waits until it has told so many messages.
  func messages(_ count: Int) async throws {
    try await output.first("\(count) messages") { _ in
      try self.events().count { $0.message != nil } >= count ? () : nil
    }
  }
}
