import NIOCore
import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

/// XEP-0198 at real servers: with the SASL of RFC 6120, and with SASL2 where a server has it.
@Suite("The resumption of a session at real servers", .timeLimit(.minutes(6)))
struct RealServerResumptionTests {
  private static func message(_ id: String, to recipient: String) -> XMLElement {
    XMLElement(
      "message", namespace: Namespaces.client, attributes: ["id": id, "to": recipient, "type": "chat"],
      children: [XMLElement("body", namespace: Namespaces.client, text: id)])
  }

  /// A login that goes ahead as far as it can.
  private static func login(_ name: String, to server: TestServer) async throws -> Login {
    try await Login(name, to: server).with {
      $0.pipelining = Pipelining(startTLS: true, binding: true)
      $0.userAgent = UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "imctl")
    }
  }

  private static func next(_ login: Login, after stream: XMPPStream) async -> Login {
    let management = await stream.management
    return login.with { $0.resuming = management }
  }

  /// The ids of the messages that come until the one with the id `last`: those of these tests.
  private static func messages(on stream: XMPPStream, until last: String) async -> [String] {
    var ids: [String] = []
    while let event = await stream.next() {
      guard case .message(let message) = event, message.body != nil, let id = message.id,
        id.wholeMatch(of: /[abkl][0-9]/) != nil
      else { continue }
      ids.append(id)
      if id == last { break }
    }
    return ids
  }

  @Test(
    "A session resumes after a broken connection, and each side receives every stanza exactly once.",
    arguments: TestServer.Kind.allCases)
  func resumed(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Self.login("bob", to: server).online()
    try await bob.send([Presence().element])
    let login = try await Self.login("alice", to: server)
    let first = XMPPStream(login.configuration)
    let before = try await first.connect()
    try await first.send([Presence(priority: 5).element])
    try await first.managed()

    let me = before.jid.description
    try await first.send([Self.message("a1", to: bob.jid)])
    #expect(await Self.messages(on: bob, until: "a1") == ["a1"])
    // On its way when the connection breaks.
    await first.cut(sending: [Self.message("a2", to: bob.jid)])
    try await bob.send([Self.message("b1", to: me), Self.message("b2", to: me)])

    let second = XMPPStream(await Self.next(login, after: first).configuration)
    let bound = try await second.connect()
    #expect(bound.isResumed && bound.jid == before.jid && bound.unacknowledged.isEmpty)
    // No more than a login that binds anew.
    #expect(bound.roundTrips == (kind.hasSASL2 ? 6 : 7))
    try await second.send([Self.message("a3", to: bob.jid)])
    #expect(await Self.messages(on: second, until: "b2") == ["b1", "b2"])
    #expect(await Self.messages(on: bob, until: "a3") == ["a2", "a3"])
    try await second.probe()
    #expect(await second.management?.unacknowledged.isEmpty == true)
    await second.close()

    // Closed on purpose: that was the end of it.
    let third = XMPPStream(await Self.next(login, after: second).configuration)
    #expect(try await third.connect().isResumed == false)
    await third.close()
    await bob.close()
  }

  @Test(
    "A session resumes in a new process that has only the stored state of the session.",
    arguments: TestServer.Kind.allCases)
  func restored(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Self.login("bob", to: server).online()
    try await bob.send([Presence().element])
    let login = try await Self.login("alice", to: server).with { $0.confirmsStanzas = true }
    let first = XMPPStream(login.configuration)
    let me = try await first.connect().jid.description
    try await first.send([Presence(priority: 5).element])
    try await first.managed()
    try await first.send([Self.message("k1", to: bob.jid)])
    try await first.probe()
    let snapshot = try #require(await first.management?.snapshot())
    // After that was stored.
    try await first.send([Self.message("k2", to: bob.jid)])
    try await bob.send([Self.message("l1", to: me)])
    #expect(await Self.messages(on: first, until: "l1") == ["l1"])
    #expect(await Self.messages(on: bob, until: "k2") == ["k1", "k2"])
    await first.cut()

    let second = XMPPStream(login.with { $0.resuming = StreamManagement(snapshot) }.configuration)
    let bound = try await second.connect()
    #expect(bound.isResumed)
    // It comes again: that it was handled was not confirmed. And the count goes on where the server has it.
    try await bob.send([Self.message("l2", to: me)])
    #expect(await Self.messages(on: second, until: "l2") == ["l1", "l2"])
    try await second.send([Self.message("k3", to: bob.jid)])
    #expect(await Self.messages(on: bob, until: "k3") == ["k3"])
    try await second.probe()
    await second.close()
    await bob.close()
  }

  @Test(
    "A login with a session that the server does not know gets a new session and reports the unacknowledged stanzas.",
    arguments: TestServer.Kind.allCases)
  func refused(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let login = try await Self.login("alice", to: server)
    let jid = try JID(server.jid("alice") + "/gone")
    var management = StreamManagement(
      .init(id: "no-such-session", jid: jid, handled: 3, acknowledged: 1, unacknowledged: ["u1", nil, "u2"]))
    management.sent(Self.message("u3", to: server.jid("bob")))
    let stream = XMPPStream(login.with { $0.resuming = management }.configuration)
    let bound = try await stream.connect()
    #expect(!bound.isResumed && bound.jid != jid)
    #expect(bound.unacknowledged.map(\.id) == ["u1", "u2", "u3"])
    #expect(bound.roundTrips == (kind.hasSASL2 ? 6 : 8))
    try await stream.managed()
    #expect(await stream.management?.canResume == true)
    await stream.close()
  }
}

extension RealServerResumptionTests {
  @Test(
    "A program that sends stanzas without reading any event is never blocked.",
    arguments: TestServer.Kind.allCases)
  func sendingOnly(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let stream = try await Self.login("alice", to: server).online()
    for number in 1...600 {
      try await stream.send([Self.message("k\(number)", to: server.jid("nobody"))])
      try await stream.probe()
    }
    while await stream.management?.isWaiting == true { try await stream.probe() }
    // None of the server's errors for the unknown recipient was taken. A server may send them after later answers, and
    // a full inbox reads only while a request waits.
    try await eventually("600 errors in the inbox") {
      try await stream.probe()
      return await stream.inbox.count >= 600
    }
    await stream.close()
  }
}

extension XMPPStream {
  fileprivate nonisolated var jid: String { configuration.account.description }

  fileprivate func probe() async throws { #expect(try await requestAcknowledgement(timeout: .seconds(20))) }

  /// Writes to a connection that breaks before the other side can read it.
  fileprivate func cut(sending elements: [XMLElement] = []) {
    let connection = connection
    connection?.isOutputOpen = false
    self.connection = nil
    for element in elements { management?.sent(element) }
    connection?.channel.close(mode: .all, promise: nil)
    finish(XMPPError(.networkError, stage: .stream, "cut"))
  }
}
