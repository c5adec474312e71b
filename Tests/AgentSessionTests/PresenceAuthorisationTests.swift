import AgentProtocol
import FoundationEssentials
import Logging
import TestSupport
import Testing
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

@Suite("Questions from peers to a session", .timeLimit(.minutes(4)))
struct PresenceAuthorisationTests {
  @Test(
    "A session is visible to its account, its server, its subscribers and the recipients of its presence."
  )
  func admitted() throws {
    let authorisation = PresenceAuthorisation(account: try JID("alice@im.example/desk"))
    func admits(_ jid: String) throws -> Bool { authorisation.admits(try JID(jid)) }
    authorisation.replace(subscribers: [try JID("bob@im.example")])
    #expect(authorisation.admits(nil))
    #expect(try admits("alice@im.example/phone") && admits("im.example"))
    // Nobody is shown presence yet.
    #expect(try !admits("bob@im.example/x"))
    authorisation.isShown = true
    #expect(try admits("bob@im.example/x"))
    for stranger in ["mallory@evil.example/x", "evil.example", "im.example.evil.example", "аlice@im.example"]
    {
      #expect(try !admits(stranger), "\(stranger)")
    }
    authorisation.change(try JID("carol@im.example"), isSubscriber: true)
    authorisation.change(try JID("bob@im.example"), isSubscriber: false)
    #expect(try admits("carol@im.example/x") && !admits("bob@im.example/x"))
    authorisation.direct(to: try JID("rooms.example/nick"), isAvailable: true)
    authorisation.direct(to: try JID("bob@im.example/x"), isAvailable: true)
    authorisation.isShown = false
    #expect(try admits("bob@im.example/y") && admits("rooms.example") && !admits("carol@im.example/x"))
    authorisation.direct(to: try JID("bob@im.example/x"), isAvailable: false)
    #expect(try !admits("bob@im.example/x"))
    authorisation.forgetDirected()
    #expect(try !admits("rooms.example/nick"))
    for number in 0..<5000 { authorisation.direct(to: try JID("m\(number)@evil.example"), isAvailable: true) }
    #expect(try admits("m999@evil.example") && !admits("m1000@evil.example"))
  }

  private static let questions = [
    "<ping xmlns='urn:xmpp:ping'/>", "<time xmlns='urn:xmpp:time'/>", "<query xmlns='jabber:iq:version'/>",
    "<query xmlns='http://jabber.org/protocol/disco#info'/>",
    "<query xmlns='http://jabber.org/protocol/disco#items'/>",
  ]

  @Test(
    "A peer that may know of the session gets an answer, and any other peer the error for an absent user."
  )
  func answers() async throws {
    func asked(by jid: String, _ answer: String) -> [ScriptedServer.Step] {
      Self.questions.enumerated().flatMap { index, question -> [ScriptedServer.Step] in
        [
          .server("<iq type='get' id='\(jid)-\(index)' from='\(jid)'>\(question)</iq>"),
          .client("<iq type='\(answer)' id='\(jid)-\(index)' to='\(jid)'/>"),
        ]
      }
    }
    let roster =
      "<item jid='bob@im.example' subscription='from'/><item jid='eve@x.example' subscription='to'/>"
    let script: [ScriptedServer.Step] =
      .login(until: .bound, jid: SessionDesk.jid + "/scripted") + [
        .client("<iq type='get' id='{roster}'/>"), .client("<iq type='set' id='{carbons}'/>"),
        .client("<iq type='get' id='{blocked}'/>"),
        .client("<presence><c xmlns='http://jabber.org/protocol/caps' hash='sha-1'/></presence>"),
        .server(
          "<iq type='result' id='{roster}'><query xmlns='jabber:iq:roster'>\(roster)</query></iq>"
            + "<iq type='error' id='{carbons}'/><iq type='error' id='{blocked}'/>"),
        .client("<iq type='get' id='{features}'/>"), .server("<iq type='error' id='{features}'/>"),
        .client("<presence/>"),
      ] + asked(by: "bob@im.example/x", "result") + asked(by: "im.example", "result")
      + asked(by: SessionDesk.jid + "/phone", "result") + asked(by: "eve@x.example/x", "error")
      + asked(by: "mallory@evil.example/x", "error") + [
        .client("<presence type='unavailable'/>"),
        .server(
          "<iq type='get' id='late' from='bob@im.example/x'>"
            + "<ping xmlns='urn:xmpp:ping'/></iq>"), .client("<iq type='error' id='late'/>"),
      ]
    let desk = try await SessionDesk([script])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("all answers") { _ in
      desk.server.received.contains("mallory@evil.example/x-4") || !desk.server.mismatches.isEmpty
    }
    #expect(desk.server.mismatches == [])
    let received = desk.server.received
    #expect(received.contains("<service-unavailable") && !received.contains("<item-not-found"))
    #expect(!received.lowercased().contains("linux"))
    let offline = PresenceSetMethod.Parameters(account: nil, show: .offline)
    _ = try await desk.session.perform { try await $0.presence.set(offline) }
    try await desk.server.finished()
    await desk.session.close()
  }

  @Test(
    "A peer on a real server can look up the features that the session's presence announces.",
    arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    var configuration = StreamConfiguration(
      account: try JID(server.jid("bob")),
      credentials: SASLCredentials(authcid: "bob", password: Secret(server.password("bob"))))
    configuration.host = TestServer.host
    configuration.port = server.port
    configuration.caFile = server.caFile
    let bob = XMPPStream(configuration)
    _ = try await bob.connect()
    try await bob.send([Presence().element])

    let home = try TemporaryDirectory()
    let session = try Session(server.jid("alice"), home: home)
    _ = try await session.login(.init(on: server))

    // Another session of the account may be there that a test before has left.
    let alice = await session.currentStatus().fullJID
    var found: (JID, XMLElement)?
    while found == nil, let event = await bob.next() {
      if case .presence(let presence) = event, let from = presence.from, from.description == alice,
        let word = presence.first("c", Namespaces.capabilities)
      {
        found = (from, word)
      }
    }
    let (from, word) = try #require(found)
    let node = try #require(word["node"]) + "#" + (try #require(word["ver"]))
    // Its events have to be read for the answers to come.
    let reading = Task { while await bob.next() != nil {} }
    let discovery = try #require(
      ServiceDiscovery(try await bob.request(ServiceDiscovery.request(from, node: node))))
    #expect(EntityCapabilities.verification(of: discovery) == word["ver"])
    #expect(discovery.identities == [.init(category: "client", type: "console", name: "imctl")])
    let version = SoftwareVersion(try await bob.request(SoftwareVersion.request(from)))
    #expect(version == SoftwareVersion(name: "imctl", version: Version.current))
    let time = try #require(EntityTime(try await bob.request(EntityTime.request(from))))
    #expect(abs(time.utc.timeIntervalSinceNow) < 60)
    #expect(try await bob.request(Ping.request(from)).type == .result)
    #expect(ServiceItem.items(of: try await bob.request(ServiceItem.request(from))) == [])
    await session.close()
    await bob.close()
    await reading.value
  }
}
