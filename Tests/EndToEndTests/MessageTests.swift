import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("A message", .serialized)
struct MessageTests {
  @Test(
    "is acknowledged by the server when send ends, and arrives at another client.",
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
  }

  @Test(
    "that is received is told once, and again from the cursor before it.", arguments: TestServer.Kind.allCases
  )
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
    let again = try await user.imctl.start(["watch", "--json", "--since", String(events[0].cursor)])
    try await again.messages(2)
    #expect(try again.events() == Array(events[1...]))
    again.send(SIGINT)
  }

  @Test(
    "of many goes out in order, as do those that wait for the session.", arguments: TestServer.Kind.allCases)
  func lines(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let lines = (1...300).map { "\(user.name) line \($0)" }
    let result = try await user.imctl.run(
      "send", bob.jid, "--lines", "--json", input: lines.joined(separator: "\n"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(try result.objects(MessageSendMethod.Outcome.self).map(\.state) == lines.map { _ in .sent })
    try await bob.message { $0.body == lines.last }
    #expect(bob.messages.map(\.body).filter { $0.hasPrefix("\(user.name) line") } == lines)
    #expect(try await user.status().queued == 0)
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
