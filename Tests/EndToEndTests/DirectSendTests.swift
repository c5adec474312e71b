import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("imctl send --direct", .serialized, .timeLimit(.minutes(10)))
struct DirectSendTests {
  @Test(
    "A direct send needs neither login nor agent, shows no presence, and waits for the server's acknowledgement.",
    arguments: TestServer.Kind.allCases)
  func stranger(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let direct =
      ["send", "--direct", bob.jid, "-a", user.jid, "--password-stdin", "--json"] + user.connection
    let result = try await user.imctl.run(direct + ["direct \(user.name)"], input: user.password)
    #expect(result.status == 0, "\(result)")
    #expect(try result.objects(MessageSendMethod.Outcome.self).map(\.state) == [.sent])
    // The password is the first line of standard input, and the message the rest.
    let text = try await user.imctl.run(direct, input: user.password + "\ntwo\nlines\n")
    #expect(text.status == 0)
    let lines = (1...1200).map { "line \($0)" }
    let many = try await user.imctl.run(
      direct + ["--lines"], input: user.password + "\n" + lines.joined(separator: "\n"))
    #expect(many.status == 0 && many.lines.count == lines.count)
    try await bob.message { $0.body == lines.last && $0.from.hasPrefix(user.jid) }
    #expect(bob.bodies(of: user) == ["direct \(user.name)", "two\nlines"] + lines)
    #expect(bob.seen(of: user).isEmpty)
    #expect(try await user.imctl.processes().isEmpty)
    #expect(try user.stored().isEmpty)
    let wrong = try await user.imctl.run(direct + ["x"], input: "wrong")
    #expect(wrong.status == 77)
    #expect(wrong.output.isEmpty)
  }

  @Test(
    "A direct send reports the outcome for each recipient, and its exit status is that of the worst outcome.",
    arguments: TestServer.Kind.allCases)
  func recipients(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Counterpart("bob", on: user.server)
    let nobody = "nobody@" + TestServer.domain
    let direct =
      ["send", "--direct", "-a", user.jid, "--password-stdin", "--to", nobody, "--wait", "delivered"]
      + user.connection + [bob.jid, "all \(user.name)"]
    for isJSON in [true, false] {
      let text = "all \(user.name) \(isJSON)"
      let send = try await user.imctl.start(direct.dropLast() + (isJSON ? ["--json", text] : [text]))
      send.write(user.password)
      send.closeInput()
      let message = try await bob.message { $0.body == text }
      try bob.send(
        xml:
          "<message type='chat' to='\(message.from)'><received xmlns='urn:xmpp:receipts' id='\(message.id)'/></message>"
      )
      #expect(try await send.ended(within: .seconds(90)) == .exited(74))
      if isJSON {
        let outcomes = try send.output.text.split(separator: "\n").map {
          try JSONDecoder().decode(MessageSendMethod.Outcome.self, from: Data($0.utf8))
        }
        #expect(outcomes.map(\.to) == [bob.jid, nobody] && Set(outcomes.map(\.id)).count == 2)
        #expect(outcomes.map(\.state) == [.delivered, .sent] && outcomes.first?.error == nil)
        #expect(outcomes.last?.error?.name == .stanzaError)
      } else {
        #expect(send.errors.text.contains("\(nobody): ") && !send.errors.text.contains("\(bob.jid): "))
      }
    }
    let good = try await user.imctl.run(
      ["send", "--direct", "-a", user.jid, "--password-stdin", "--json", "--to", bob.jid + "/x"]
        + user.connection + [bob.jid, "both \(user.name)"], input: user.password)
    #expect(good.status == 0, "\(good.errors)")
    #expect(try good.objects(MessageSendMethod.Outcome.self).map(\.to) == [bob.jid, bob.jid + "/x"])
    try await bob.end()
    try await user.imctl.end()
  }

  @Test("A direct send uses the stored credentials, leaves the session alone, and can wait for a receipt.")
  func stored() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    let before = try await user.status()
    let send = try await user.imctl.start(
      ["send", "--direct", bob.jid, "direct \(user.name)", "--wait", "delivered", "--json"])
    let message = try await bob.message { $0.body == "direct \(user.name)" }
    #expect(message.from != before.fullJID)
    try bob.send(
      xml:
        "<message type='chat' to='\(message.from)'><received xmlns='urn:xmpp:receipts' id='\(message.id)'/></message>"
    )
    #expect(try await send.ended(within: .seconds(90)) == .exited(0))
    #expect(send.output.text.contains(#""state":"delivered""#))
    let late = try await user.imctl.run(
      "send", "--direct", bob.jid, "x", "--wait", "delivered", "--timeout", "5")
    #expect(late.status == 87)
    let refused = try await user.imctl.run(
      "send", "--direct", "nobody@" + TestServer.domain, "x", "--wait", "delivered")
    #expect(refused.status == 74)
    #expect(try await user.status().since == before.since)
  }
}
