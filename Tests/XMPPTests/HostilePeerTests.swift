import NIOCore
import Synchronization
import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("On a bound stream", .timeLimit(.minutes(6)))
struct HostilePeerTests {
  typealias Step = ScriptedServer.Step

  private static let own = "alice@\(TestServer.domain)/scripted"
  private static let bindRequest = Step.client(
    "<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
  private static let bindResult =
    "<iq type='result' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><jid>\(own)</jid></bind></iq>"
  private static let untilBinding: [Step] =
    .login(until: .authenticated) + [
      .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"), bindRequest,
    ]

  @Test("what stands behind the bind result in the same packet is received.")
  func behindBinding() async throws {
    let server = try await ScriptedServer(
      Self.untilBinding + [
        .server(
          Self.bindResult + "<message from='bob@\(TestServer.domain)'><body>hi</body></message>"
            + "<iq type='get' id='early' from='\(TestServer.domain)'><ping xmlns='urn:xmpp:ping'/></iq>"),
        .client("<iq type='error' id='early'/>"),
      ])
    let stream = try await Login(server).online()
    let message = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    #expect(message?.body == "hi")
    try await server.finished()
    await stream.close()
    try await server.end()
  }

  @Test("a stream error behind the bind result ends the stream for its reason.")
  func errorBehindBinding() async throws {
    let server = try await ScriptedServer(
      Self.untilBinding + [
        .server(
          Self.bindResult
            + "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>"
        )
      ])
    let stream = try await XMPPStream(Login(server).configuration)
    _ = try await stream.connect()
    let end = await stream.ending()
    #expect(Failed(end) == Failed(.kicked, .stream))
    #expect(end?.condition == "conflict")
    try await server.end()
  }

  @Test("what came before the connection broke is received, also when the break shows while it is answered.")
  func brokenWhileAnswering() async throws {
    let count = 200
    let question =
      "<message from='bob@\(TestServer.domain)'><body>hi</body></message>"
      + "<iq type='get' id='early' from='\(TestServer.domain)'><ping xmlns='urn:xmpp:ping'/></iq>"
    let questions = Step.server(Self.bindResult + String(repeating: question, count: count))
    let server = try await ScriptedServer(Self.untilBinding + [questions, .reset])
    for _ in 0..<20 {
      let stream = try await XMPPStream(Login(server).configuration)
      _ = try await stream.connect()
      var messages = 0
      var end: XMPPError?
      while let event = await stream.next() {
        if case .message = event { messages += 1 }
        if case .closed(let error) = event { end = error }
      }
      #expect(messages == count)
      #expect(end?.code == .networkError, "\(String(describing: end))")
    }
    try await server.end()
  }

  @Test("the resource is the server's, whatever was asked for.")
  func resource() async throws {
    let server = try await ScriptedServer(
      .login(until: .authenticated) + [
        .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"),
        .client(
          "<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>desk</resource></bind></iq>"
        ),
        .server(Self.bindResult),
      ])
    let stream = XMPPStream(try await Login(server).with { $0.resource = "desk" }.configuration)
    #expect(try await stream.connect().jid.description == Self.own)
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("what has to happen before binding happens behind the verified success, and once.")
  func beforeBinding() async throws {
    let server = try await ScriptedServer(.login(until: .bound))
    let lines = WireLines()
    let stream = try await Login(server).with {
      $0.wireLog = { lines.add($0, $1) }
      $0.beforeBinding = { lines.add(.sent, "now") }
    }.online()
    await stream.close(patience: .milliseconds(10))
    let marks = lines.all.compactMap { line in
      ["<success", "now", "<iq"].first { line.hasPrefix("C: \($0)") || line.hasPrefix("S: \($0)") }
    }
    #expect(marks == ["<success", "now", "<iq", "<iq"])
    // A login that fails leaves it undone.
    let count = Counter()
    let login = try await Login(server).with {
      $0.credentials.password = Secret("wrong")
      $0.beforeBinding = { count.add() }
    }
    #expect(await login.failure()?.code == .authFailed)
    #expect(count.value == 0)
    try await server.end()
  }

  @Test("an answer counts only from whom was asked, and only as an IQ.")
  func answers() async throws {
    func answer(_ from: String, _ type: String = "result") -> String {
      "<iq type='\(type)' id='{id}'\(from.isEmpty ? "" : " from='\(from)'")><q xmlns='forged'/></iq>"
    }
    let asked = "bob@\(TestServer.domain)/desk"
    let forged =
      [
        "mallory@evil.example", "bob@\(TestServer.domain)", "bob@\(TestServer.domain)/other",
        TestServer.domain,
        Self.own, "alice@\(TestServer.domain)", "", "bоb@\(TestServer.domain)/desk",
      ].flatMap { [answer($0), answer($0, "error")] } + [
        "<message id='{id}' from='\(asked)' type='error'/>",
        "<presence id='{id}' from='\(asked)' type='error'/>",
        "<iq type='result' from='\(asked)' id='other'/>",
        "<iq type='set' from='\(asked)' id='{id}'><q xmlns='x'/></iq>",
        "<iq type='nonsense' from='\(asked)' id='{id}'/>",
      ]
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<iq type='get' id='{id}' to='\(asked)'/>"),
        .server(forged.joined() + "<iq type='result' id='{id}' from='\(asked)'><q xmlns='true'/></iq>"),
      ])
    let stream = try await Login(server).online()
    let question = IQ(type: .get, to: try JID(asked), payload: [XMLElement("q", namespace: "true")])
    let got = try await stream.request(question)
    #expect(got.payload.first?.name.namespace == "true")
    await stream.close()
    try await server.end()
  }

  @Test("ids of requests cannot be guessed.")
  func ids() {
    let ids = (0..<1000).map { _ in IQ.makeID() }
    #expect(Set(ids).count == ids.count)
    #expect(ids.allSatisfy { $0.count >= 12 })
  }

  @Test("a second request with an id that waits is refused, and the first one still gets its answer.")
  func sameID() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<iq type='get' id='same'/>"), .client("<presence/>"),
        .server("<iq type='result' id='same'/>"),
      ])
    let stream = try await Login(server).online()
    let request = IQ(type: .get, id: "same", payload: [XMLElement("q", namespace: "x")])
    let first = Task { try await stream.request(request) }
    while await !stream.isWaiting(for: "same") { await Task.yield() }
    let second = await Task { try await stream.request(request) }.result
    #expect(Failed((second.failure as? XMPPError)) == Failed(.invalidParameter, .request))
    try await stream.send([Presence().element])
    #expect(try await first.value.type == .result)
    await stream.close()
    try await server.end()
  }

  @Test("a request ends with its task, with its time, and with the stream.")
  func unanswered() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<iq type='get'/>"), .client("<iq type='get'/>"), .client("<iq type='get'/>"),
        .client("<presence/>"), .close,
      ])
    let stream = try await Login(server).online()
    let request = IQ(type: .get, payload: [XMLElement("q", namespace: "x")])
    let cancelled = Task { try await stream.request(request) }
    cancelled.cancel()
    #expect(Failed((await cancelled.result.failure as? XMPPError)) == Failed(.cancelled, .request))
    let late = await Task { try await stream.request(request, timeout: .milliseconds(1)) }.result
    #expect(Failed((late.failure as? XMPPError)) == Failed(.networkError, .request))
    var named = request
    named.id = "1"
    let stanzas = [named.element, Presence().element]
    let open = try await stream.exchange(stanzas, timeout: .seconds(30))
    #expect(open.map { Failed($0.failure) } == [Failed(.networkError, .stream)])
    #expect(await stream.isWaiting == false)
    try await server.end()
  }

  @Test("stanzas that cannot be read are passed over, numbers out of range are none.")
  func invalidStanzas() async throws {
    let long = String(repeating: "a", count: 1100)
    let from = "bob@\(TestServer.domain)/x"
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .server(
          ["@@", "a@b@c", "\(long)@b", "a@\(long)", "a@b/\(long)", "a@b/", "a b@c", "@b", "a@", " "]
            .map {
              "<message from='\($0)'/><presence from='\($0)'/><iq type='get' id='1' from='\($0)'><q xmlns='x'/></iq>"
            }
            .joined()),
        .server(
          "<foo/><message xmlns='jabber:server' from='\(from)'/><iq type='get' from='\(from)'/><iq/><presence type=''/>"
        ),
        .server(
          ["999", "-129", "128", "1e400", "NaN", "18446744073709551616", " 5 "].map {
            "<presence from='\(from)'><priority>\($0)</priority></presence>"
          }.joined()),
        .server("<message from='\(from)'><body>end</body></message>"),
      ])
    let stream = try await Login(server).online()
    var priorities: [Int8] = []
    while let event = await stream.next() {
      if case .presence(let presence) = event, presence.from?.description == from {
        priorities.append(presence.priority)
      }
      if case .message(let message) = event {
        #expect(message.body == "end")
        break
      }
    }
    #expect(priorities == [0, 0, 0, 0, 0, 0, 5])
    await stream.close()
    try await server.end()
  }

  // MARK: Floods

  @Test("presences that nobody takes stay with the sender.")
  func flood() async throws {
    let presence = "<presence from='bob@\(TestServer.domain)/x'/>"
    let server = try await ScriptedServer(.login(until: .bound) + [.flood(presence, bytes: 1 << 28)])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    let waiting = await stream.inbox.count
    // One pass of the event loop reads a few buffers of at most 64 KiB before the pause has its effect.
    #expect(waiting < 256 + 16 * 65_536 / presence.utf8.count)
    var taken = 0
    while taken < 4 * waiting, let event = await stream.next() { if case .presence = event { taken += 1 } }
    #expect(taken == 4 * waiting)
    try await stream.untilPaused()
    await stream.close()
    try await server.closedByClient()
    try await server.end()
  }

  @Test("of long messages that nobody takes fewer stay with the sender, each in its place.")
  func longFlood() async throws {
    let text = String(repeating: "x", count: 50_000)
    let message = "<message from='bob@\(TestServer.domain)/x'><body>\(text)</body></message>"
    let server = try await ScriptedServer(.login(until: .bound) + [.flood(message, bytes: 1 << 28)])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    #expect(await stream.inbox.count < 1 << 20 / text.utf8.count + 16 * 65_536 / message.utf8.count + 2)
    var taken = 0
    while taken < 200, let event = await stream.next() {
      guard case .message(let message) = event else { continue }
      #expect(message.body?.utf8.count == text.utf8.count)
      taken += 1
    }
    #expect(taken == 200)
    await stream.close()
    try await server.closedByClient()
    try await server.end()
  }

  @Test("a stream pauses for what its events hold, too, and goes on when that was taken.")
  func octets() {
    let long = StreamEvent.message(Message(body: String(repeating: "x", count: 1 << 18)))
    var inbox = StreamInbox()
    var count = 0
    while !inbox.isPaused {
      inbox.put(long)
      count += 1
    }
    #expect(count == 4)
    while inbox.isPaused { #expect(inbox.popFirst() != nil) }
    #expect(inbox.count == 0)
    while !inbox.isFull { inbox.put(long) }
    #expect(inbox.count == 128)
    #expect(inbox.popFirst() != nil && !inbox.isFull && inbox.isPaused)
  }

  @Test(
    "acknowledgements wait in their places, take none from others, and those that nobody takes are forgotten."
  )
  func acknowledgements() {
    let stanzas = { (ids: Range<Int>) in
      StreamEvent.acknowledged(ids.map { SentStanza(id: "\($0)", element: nil) })
    }
    let acknowledged = { (event: StreamEvent?) -> [String]? in
      guard case .acknowledged(let stanzas)? = event else { return nil }
      return stanzas.compactMap(\.id)
    }
    var inbox = StreamInbox()
    for number in 0..<1000 { inbox.put(stanzas(number..<number + 1)) }
    #expect(inbox.count == 0 && !inbox.isPaused)
    inbox.put(.marked("first"))
    inbox.put(stanzas(1000..<1001))
    #expect(acknowledged(inbox.popFirst()) == (0..<1000).map(String.init))
    guard case .marked("first")? = inbox.popFirst() else {
      Issue.record("the mark is gone")
      return
    }
    #expect(acknowledged(inbox.popFirst()) == ["1000"])
    #expect(inbox.popFirst() == nil && inbox.count == 0)

    inbox.put(stanzas(0..<10))
    inbox.put(.marked("second"))
    inbox.put(stanzas(10..<20 + StreamInbox.acknowledgementsKept))
    guard case .marked("second")? = inbox.popFirst() else {
      Issue.record("the mark is gone")
      return
    }
    let last = acknowledged(inbox.popFirst())
    #expect(last?.first == "20" && last?.count == StreamInbox.acknowledgementsKept)
    #expect(inbox.popFirst() == nil)
  }

  @Test("what came before the end is not lost where the consumer is slow.")
  func endWhilePaused() async throws {
    let presence = "<presence from='bob@\(TestServer.domain)/x'/>"
    // The server sends whole pieces of at most 64 KiB.
    let inPiece = 65_536 / presence.utf8.count
    let server = try await ScriptedServer(
      .login(until: .bound) + [.flood(presence, bytes: 4 * inPiece * presence.utf8.count), .close])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    try await server.finished()
    let events = await stream.eventsToTheEnd()
    #expect(events.count { if case .presence = $0 { true } else { false } } == 4 * inPiece)
    guard case .closed(let failure)? = events.last else { throw TestSupportError("not closed") }
    #expect(Failed(failure) == Failed(.networkError, .stream))
    try await server.end()
  }

  @Test("requests of a peer that does not read the answers stay with it.")
  func requests() async throws {
    let request = "<iq type='get' id='1' from='bob@\(TestServer.domain)/x'><q xmlns='q'/></iq>"
    let server = try await ScriptedServer(.login(until: .bound) + [.flood(request, bytes: 1 << 28)])
    let count = Counter()
    let login = try await Login(server).with {
      $0.responders[XMLName("q", "q")] = { _ in
        count.add()
        return nil
      }
    }
    let stream = try await login.online()
    try await stream.untilPaused()
    #expect(await stream.inbox.isPaused == false)
    let unsent = try await stream.channel?.getOption(.bufferedWritableBytes).get() ?? 0
    #expect(unsent > 0)
    #expect(unsent < 8 << 20)
    #expect(count.value < (1 << 28) / request.utf8.count)
    await stream.close(patience: .milliseconds(10))
    try await server.closedByClient()
    try await server.end()
  }

  @Test("the answer to a request is found behind more events than are stored, up to a limit.")
  func answerBehindEvents() async throws {
    let presences = { (count: Int) in
      Step.server(String(repeating: "<presence from='bob@\(TestServer.domain)/x'/>", count: count))
    }
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        presences(300), .client("<iq type='get' id='{one}'/>"), presences(3000),
        .server("<iq type='result' id='{one}'/>"), .client("<iq type='get'/>"),
        .flood("<presence from='bob@\(TestServer.domain)/x'/>", bytes: 1 << 28),
      ])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    let request = IQ(type: .get, payload: [XMLElement("q", namespace: "x")])
    #expect(try await stream.request(request).type == .result)
    try await stream.untilPaused()
    let unanswered = Task { try await stream.request(request) }
    try await stream.untilFull()
    try await stream.untilPaused()
    unanswered.cancel()
    #expect((await unanswered.result.failure as? XMPPError)?.code == .cancelled)
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test("an event that comes as its consumer is cancelled does not cost the next consumer its turn.")
  func cancelledConsumer() async throws {
    var inbox = StreamInbox()
    let first = inbox.nextTurn()
    let second = inbox.nextTurn()
    let one = await withCheckedContinuation { waiter in
      inbox.wait(waiter, first)
      inbox.put(.message(Message()))
    }
    let two = await withCheckedContinuation { waiter in
      inbox.wait(waiter, second)
      // The first one's cancellation comes late.
      inbox.stopWaiting(first)
      inbox.put(.closed(nil))
    }
    guard case .message = one, case .closed = two else { throw TestSupportError("an event is lost") }
    let none: StreamEvent? = await withCheckedContinuation { waiter in
      let third = inbox.nextTurn()
      inbox.wait(waiter, third)
      inbox.stopWaiting(third)
    }
    #expect(none == nil)
  }

  // MARK: Closing

  @Test("a stream error is answered by closing the stream, and so is a login that fails.")
  func closedForAnError() async throws {
    let conflict = Step.server(
      "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    let close = Step.client("</stream:stream>")
    let server = try await ScriptedServer(eachConnection: [
      .login(until: .bound) + [conflict, close],
      [.header, .features(""), close],
      .login(until: .mechanisms, mechanisms: ["UNKNOWN"]) + [close],
      .login(until: .authenticated) + [.header, .features(""), close],
    ])
    let login = try await Login(server)
    #expect(Failed(await (try login.online()).ending()) == Failed(.kicked, .stream))
    for _ in 2...4 { #expect(await login.failure() != nil) }
    for connection in 1...4 {
      try await server.finished(connection: connection)
      // Once, and for the last of the streams on the connection.
      #expect(server.received(connection: connection).components("</stream:stream>") == 1)
    }
    try await server.end()
  }

  @Test("closing says goodbye once, in order, and waits for the answer.")
  func closing() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<presence/>"), .client("<presence type='unavailable'/>"), .client("</stream:stream>"),
        .server("<message from='bob@\(TestServer.domain)'/></stream:stream>"), .close,
      ])
    let stream = try await Login(server).online()
    try await stream.send([Presence().element])
    async let one: Void = stream.close(
      sending: [Presence(type: .unavailable).element], patience: .seconds(50))
    async let two: Void = stream.close(
      sending: [Presence(type: .unavailable).element], patience: .seconds(50))
    _ = await (one, two)
    #expect(await stream.ending() == nil)
    try await server.finished()
    #expect(server.received.components("unavailable") == 1)
    #expect(server.received.components("</stream:stream>") == 1)
    try await server.end()
  }

  @Test("closing does not wait forever for a server that is silent.")
  func silentServer() async throws {
    let server = try await ScriptedServer(.login(until: .bound) + [.stall])
    let stream = try await Login(server).online()
    await stream.close(patience: .milliseconds(10))
    #expect(await stream.ending() == nil)
    try await server.end()
  }

  @Test("a server that closes without a reason has kicked, and is answered.")
  func serverCloses() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [.server("</stream:stream>"), .client("</stream:stream>")])
    let stream = try await Login(server).online()
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.finished()
    try await server.end()
  }

  @Test("after its end a stream refuses, and does not hang.")
  func afterwards() async throws {
    let server = try await ScriptedServer(.login(until: .bound))
    let stream = try await Login(server).online()
    await stream.close(patience: .milliseconds(10))
    await stream.close()
    #expect(await stream.ending() == nil)
    #expect(await stream.next() == nil)
    let send = await Task { try await stream.send([Presence().element]) }.result
    #expect(Failed((send.failure as? XMPPError)) == Failed(.notLoggedIn, .request))
    let request = await Task { try await stream.request(IQ(type: .get)) }.result
    #expect(Failed((request.failure as? XMPPError)) == Failed(.notLoggedIn, .request))
    let again = await Task { try await stream.connect() }.result
    #expect(Failed((again.failure as? XMPPError)) == Failed(.internalError, .connect))
    try await server.end()
  }
}

/// Counts on any thread.
final class Counter: Sendable {
  private let count = Atomic(0)
  var value: Int { count.load(ordering: .relaxed) }
  func add() { count.wrappingAdd(1, ordering: .relaxed) }
}

extension Result {
  var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}

extension XMPPStream {
  var isWaiting: Bool { !requests.isEmpty }
  func isWaiting(for id: String) -> Bool { requests.isWaiting(for: id) }

  /// The first event that `pick` takes.
  func first<T: Sendable>(_ pick: @Sendable (StreamEvent) -> T?) async -> T? {
    while let event = await next() { if let found = pick(event) { return found } }
    return nil
  }

  /// Waits until no more events are stored.
  func untilFull() async throws {
    let deadline = ContinuousClock.now + .seconds(50)
    while !inbox.isFull {
      guard ContinuousClock.now < deadline else { throw TestSupportError("the stream does not read on") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Waits until the stream has stopped reading.
  func untilPaused() async throws {
    let deadline = ContinuousClock.now + .seconds(50)
    while let channel, try await channel.getOption(.autoRead).get() {
      guard ContinuousClock.now < deadline else { throw TestSupportError("the stream reads on and on") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
