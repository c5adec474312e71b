import NIOConcurrencyHelpers
import TestSupport
import Testing
import XMPP
import XMPPStanza
import XMPPXML

@testable import XMPPClient

/// The client of the library, at real servers.
@Suite("The reconnecting client", .timeLimit(.minutes(6)))
struct XMPPClientTests {
  @Test(
    "A client that connects is online and receives messages, and is offline after it has disconnected.",
    arguments: TestServer.Kind.oneOfEach)
  func online(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Counterpart(on: server)
    let alice = try ClientAtServer(to: server)
    let session = try await alice.client.connect()
    try bob.send("first", to: session.jid.description)
    try await eventually("the message") { alice.received == ["first"] }
    // It was the program's session handler that has made it available.
    try await bob.presence { $0.type == "available" && $0.from == session.jid.description }
    await alice.client.disconnect()
    try await bob.presence { $0.type == "unavailable" && $0.from == session.jid.description }
    #expect(alice.events == ["bound", "lost", "offline"])
    #expect(!session.isCurrent)
    await #expect(throws: XMPPError.self) { try await session.send([Presence().element]) }
    #expect(await alice.client.state == ConnectionMachine.State())
    try await bob.end()
  }

  @Test(
    "A client resumes its session whenever the link breaks, and loses no message.",
    arguments: TestServer.Kind.allCases)
  func cut(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let link = try await FaultProxy(to: server.port)
    let bob = try await Counterpart(on: server)
    let alice = try ClientAtServer(to: server, port: link.port)
    let first = try await alice.client.connect()
    // The server has it all: a session that has only just begun may not be known to be resumable.
    try await first.stream.probe(timeout: .seconds(30))
    for number in 1...3 {
      try await link.fault(.cut)
      try bob.send("text \(number)", to: first.jid.description)
      try await alice.happens { $0.filter { $0 == "resumed" }.count == number }
    }
    try await eventually("the texts") { alice.received == ["text 1", "text 2", "text 3"] }
    #expect(!first.isCurrent)
    #expect(await alice.client.session?.jid == first.jid)
    await alice.client.disconnect()
    try await bob.end()
    try await link.end()
  }

  @Test(
    "A client gets a new session after the server was restarted.",
    arguments: TestServer.Kind.oneOfEach)
  func restart(kind: TestServer.Kind) async throws {
    let server = try await TestServer(.init(kind))
    let alice = try ClientAtServer(to: server)
    _ = try await alice.client.connect()
    try await server.kill()
    try await alice.happens { $0.contains("waiting") }
    try await server.start()
    try await alice.happens { $0.filter { $0 == "bound" }.count == 2 }
    await alice.client.disconnect()
    try await server.end()
  }

  @Test(
    "A client with a wrong password stays offline and reports the reason.",
    arguments: TestServer.Kind.oneOfEach)
  func wrongPassword(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let alice = try ClientAtServer(to: server, password: "wrong")
    let error = await #expect(throws: XMPPError.self) { _ = try await alice.client.connect() }
    #expect(error?.code == .authFailed)
    #expect(alice.events == ["failed authFailed", "offline authFailed"])
    // Another connect is another attempt.
    let again = await #expect(throws: XMPPError.self) { try await alice.client.run() }
    #expect(again?.code == .authFailed)
  }

  @Test("A client asks the program for a secret before each attempt, and stays offline if there is none.")
  func noSecret() async throws {
    let server = try await TestServer.shared(.prosody)
    let asked = NIOLockedValueBox(0)
    let alice = try ClientAtServer(
      to: server,
      change: { configuration in
        configuration.stream = { () throws(XMPPError) in
          asked.withLockedValue { $0 += 1 }
          throw XMPPError(.authFailed, stage: .authenticate, "there is no secret")
        }
      })
    for count in 1...2 {
      let error = await #expect(throws: XMPPError.self) { _ = try await alice.client.connect() }
      #expect(error?.message == "there is no secret")
      #expect(asked.withLockedValue { $0 } == count)
    }
  }

  @Test(
    "A client replaces its session with a new one without going offline.",
    arguments: TestServer.Kind.oneOfEach)
  func replaced(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let alice = try ClientAtServer(to: server)
    let first = try await alice.client.connect()
    await alice.client.replace()
    try await alice.happens { $0.filter { $0 == "bound" }.count == 2 }
    #expect(!first.isCurrent)
    let second = try #require(await alice.client.session)
    #expect(second.isCurrent && second.number != first.number)
    try await second.stream.probe(timeout: .seconds(30))
    await alice.client.disconnect()
    #expect(!alice.events.contains { $0.hasPrefix("failed") || $0 == "waiting" })
  }

  @Test("A client is offline while it is suspended, and online again when it has been woken.")
  func suspended() async throws {
    let server = try await TestServer.shared(.prosody13)
    let alice = try ClientAtServer(to: server)
    _ = try await alice.client.connect()
    await alice.client.suspend()
    try await alice.happens { $0.contains("lost") }
    #expect(await alice.client.state.wish == .suspended)
    #expect(await alice.client.session == nil)
    await alice.client.wake()
    _ = try await alice.client.connect()
    #expect(alice.events == ["bound", "lost", "bound"])
    await alice.client.disconnect()
  }

  @Test(
    "A network change makes a client give up its pause, or a connection that is dead.")
  func networkChanged() async throws {
    let server = try await TestServer.shared(.prosody13)
    let link = try await FaultProxy(to: server.port)
    let alice = try ClientAtServer(
      to: server, port: link.port,
      change: { configuration in
        // Nothing but the change of the network ends a pause.
        configuration.clock.sleep = { _ in try await Task.sleep(for: .seconds(3600)) }
      })
    let session = try await alice.client.connect()
    try await session.stream.probe(timeout: .seconds(30))
    await alice.client.networkChanged(addresses: [])
    try await eventually("the answer") { await alice.client.state.link == .bound }
    #expect(alice.events == ["bound"])

    // The link is known to be gone: nothing is waited for.
    try await link.fault(.stall)
    await alice.client.networkChanged(addresses: [])
    try await alice.happens { $0.contains("resumed") }
    #expect(!alice.events.contains("waiting"))
    try await alice.client.session?.stream.probe(timeout: .seconds(30))

    try await link.fault(.away)
    try await alice.happens { $0.contains("waiting") }
    try await link.open()
    await alice.client.networkChanged(addresses: [])
    try await alice.happens { $0.filter { $0 == "resumed" }.count == 2 }
    await alice.client.disconnect()
    try await link.end()
  }

  @Test("A client answers each request by the handler of its payload, however late, and refuses all others.")
  func requests() async throws {
    let server = try await TestServer.shared(.prosody)
    let name = XMLName("question", "urn:example:question")
    let isAnswered = NIOLockedValueBox(false)
    let alice = try ClientAtServer(
      to: server,
      change: { configuration in
        configuration.handlers.onRequest(name) { request, _ in
          guard request.type == .get else { throw StanzaError(.notAllowed) }
          // What comes behind it is handled meanwhile.
          try await eventually("the message behind it") { isAnswered.withLockedValue { $0 } }
          return [XMLElement(name: XMLName("answer", "urn:example:question"))]
        }
        configuration.handlers.onMessage { _, _ in isAnswered.withLockedValue { $0 = true } }
      })
    let bob = try ClientAtServer("bob", to: server)
    let to = try await alice.client.connect().jid
    let session = try await bob.client.connect()
    func request(_ type: IQ.Kind, _ name: XMLName) -> IQ {
      var request = IQ(type: type, to: to)
      request.payload = [XMLElement(name: name)]
      return request
    }
    async let answer = session.request(request(.get, name))
    let refusal = try await session.request(request(.set, name))
    #expect(refusal.error?.condition == .notAllowed)
    let unknown = try await session.request(request(.get, XMLName("other", "urn:example:question")))
    #expect(unknown.error?.condition == .serviceUnavailable)
    try await session.send([Message(type: .chat, to: to, body: "go on").element])
    #expect(try await answer.child?.name.local == "answer")
    await alice.client.disconnect()
    await bob.client.disconnect()
  }

  @Test("A client tells the server in each session that the user is inactive.")
  func inactive() async throws {
    let server = try await TestServer.shared(.prosody13)
    let link = try await FaultProxy(to: server.port)
    let sent = NIOLockedValueBox<[String]>([])
    let alice = try ClientAtServer(
      to: server, port: link.port,
      stream: { configuration in
        configuration.wireLog = { direction, xml in
          if direction == .sent, xml.contains("urn:xmpp:csi:0") { sent.withLockedValue { $0.append(xml) } }
        }
      })
    let session = try await alice.client.connect()
    await alice.client.setActive(false)
    try await session.stream.probe(timeout: .seconds(30))
    try await link.fault(.cut)
    try await alice.happens { $0.contains("resumed") }
    try await eventually("both") {
      sent.withLockedValue { $0.filter { $0.contains("<inactive") }.count } == 2
    }
    await alice.client.disconnect()
    try await link.end()
  }
}
