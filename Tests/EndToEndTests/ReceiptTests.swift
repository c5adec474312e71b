import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Receipts", .serialized, .timeLimit(.minutes(10)))
struct ReceiptTests {
  @Test(
    "A receipt of the recipient ends send --wait delivered, and each receipt and marker is reported once.",
    arguments: TestServer.Kind.allCases)
  func delivered(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let watch = try await user.watch("message,receipt,chatState")
    let send = try await user.imctl.start([
      "send", bob.jid, "hi \(user.name)", "--wait", "delivered", "--json",
    ])
    let message = try await bob.message { $0.body == "hi \(user.name)" }
    func tell(_ child: String) throws {
      try bob.send(xml: "<message type='chat' to='\(message.from)'>\(child)</message>")
    }
    try tell("<composing xmlns='http://jabber.org/protocol/chatstates'/>")
    for _ in 1...2 {
      try tell("<received xmlns='urn:xmpp:receipts' id='\(message.id)'/>")
      try tell("<displayed xmlns='urn:xmpp:chat-markers:0' id='\(message.id)'/>")
      try tell("<received xmlns='urn:xmpp:receipts' id='not-\(message.id)'/>")
    }
    #expect(try await send.ended(within: .seconds(90)) == .exited(0))
    let outcome = try JSONDecoder().decode(
      MessageSendMethod.Outcome.self, from: Data(send.output.text.utf8))
    #expect(outcome.state == .delivered && outcome.id == message.id)
    try bob.send("the end", to: message.from)
    try await watch.output.first("the end") { $0.text.contains("the end") ? () : nil }
    let events = try watch.events()
    #expect(events.compactMap(\.receipt).map(\.kind) == [.server, .delivered, .displayed])
    #expect(events.compactMap(\.receipt).allSatisfy { $0.id == message.id })
    #expect(events.count { $0.name == "chatState" } == 1)
    watch.send(SIGINT)
    let first = try #require(events.first)
    let again = try await user.imctl.start(
      ["watch", "--events", "receipt", "--json", "--since", String(first.cursor)])
    let missed = events.dropFirst().compactMap(\.receipt)
    try await again.output.first("the receipts") { $0.lines.count >= missed.count ? () : nil }
    #expect(try again.events().compactMap(\.receipt) == missed)
    again.send(SIGINT)
    // Sent again under its id it has been confirmed already.
    let repeated = try await user.imctl.run(
      "send", bob.jid, "hi \(user.name)", "--wait", "delivered", "--id", message.id)
    #expect(repeated.status == 0)
  }

  @Test(
    "The command send --wait delivered ends with 87 without a receipt, and with 74 after a refusal.",
    arguments: TestServer.Kind.allCases)
  func missing(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let late = try await user.imctl.run(
      "send", bob.jid, "hi", "--wait", "delivered", "--timeout", "8", "--json")
    #expect(late.status == 87)
    #expect(try late.objects(MessageSendMethod.Outcome.self).map(\.state) == [.sent])
    let watch = try await user.watch("receipt")
    let refused = try await user.imctl.run(
      "send", "nobody@" + TestServer.domain, "hi", "--wait", "delivered", "--json")
    #expect(refused.status == 74, "\(refused)")
    #expect(try refused.error.condition == "service-unavailable")
    try await watch.output.contains(#""kind":"failed""#)
    watch.send(SIGINT)
    let history = try await user.imctl.run("history", "nobody@" + TestServer.domain, "--json")
    let reasons = try history.objects(Event.self).compactMap { event in
      if case .message(let message) = event.body { message.error?.condition } else { nil }
    }
    #expect(reasons == ["service-unavailable", "service-unavailable"])
  }

  @Test("A correction gets a receipt, too, and names the first version of the message.")
  func corrected() async throws {
    let user = try await User()
    let bob = try await User()
    try await user.goOnline()
    try await bob.goOnline()
    let watch = try await bob.watch("message,chatState")
    let typing = try await user.imctl.run("send", bob.jid, "--state", "composing")
    #expect(typing.status == 0, "\(typing)")
    #expect(try await user.imctl.run("send", bob.jid, "teh", "--thread", "typos").status == 0)
    for text in ["a", "- the"] {
      let edit = try await user.imctl.run("edit", bob.jid, "--last", text, "--wait", "delivered")
      #expect(edit.status == 0, "\(edit)")
    }
    try await watch.messages(3)
    let told = try watch.events().compactMap { event in
      if case .message(let message) = event.body { message } else { nil }
    }
    #expect(told.map(\.body) == ["teh", "a", "- the"])
    #expect(told.map(\.replaces) == [nil, told.first?.id, told.first?.id])
    let states = try watch.events().compactMap { event in
      if case .chatState(let change) = event.body { change.state } else { nil }
    }
    #expect(states == ["composing"])
    #expect(try await bob.imctl.run("threads", "list", user.jid).output.contains("typos"))
    let thread = try await bob.imctl.run("history", "--thread", "typos", "--json")
    #expect(thread.lines.count == 1 && thread.output.contains("teh"))
    watch.send(SIGINT)
    let nobody = try await user.imctl.run("edit", "nobody@" + TestServer.domain, "--last", "x")
    #expect(nobody.status == 64)
  }

  @Test(
    "A receipt is sent once for each stored message, to senders who may know that the account is online.",
    arguments: TestServer.Kind.allCases)
  func answered(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let watch = try await user.watch("message")
    func ask(_ id: String) throws {
      try bob.send(
        xml: "<message type='chat' to='\(user.jid)' id='\(id)'><body>\(id)</body>"
          + "<request xmlns='urn:xmpp:receipts'/></message>")
    }
    // Who sees the account's presence may know that it is there.
    try ask("contact-\(user.name)")
    try await watch.messages(1)
    #expect(try await user.imctl.run("send", bob.jid, "hi").status == 0)
    try ask("known-\(user.name)")
    try await watch.messages(3)
    try await eventually("the receipt") { bob.stanzas.contains { $0.xml.contains("known-\(user.name)") } }
    try await bob.settled()
    let answers = bob.stanzas.filter { $0.from.hasPrefix(user.jid) && $0.xml.contains("urn:xmpp:receipts") }
    #expect(answers.count == 2)
    watch.send(SIGINT)
  }
}

extension Event {
  var receipt: ReceiptEvent? {
    if case .receipt(let receipt) = body { receipt } else { nil }
  }
}
