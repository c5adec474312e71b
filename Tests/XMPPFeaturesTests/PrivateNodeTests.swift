import TestSupport
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite("Private nodes", .timeLimit(.minutes(10)))
struct PrivateNodeTests {
  private let own: JID
  private let node = PrivateNode("urn:xmpp:mds:displayed:0")
  init() throws { own = try JID("juliet@capulet.lit") }

  @Test("A publication to a private node has the condition that nobody else can read the node.")
  func publication() throws {
    let item = PubSub.Item("romeo@montegue.lit", XMLElement("displayed", namespace: node.name))
    #expect(
      node.publication(of: item).payload.first?.xmlString() == """
        <pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='urn:xmpp:mds:displayed:0'>\
        <item id='romeo@montegue.lit'><displayed xmlns='urn:xmpp:mds:displayed:0'/></item></publish>\
        <publish-options><x xmlns='jabber:x:data' type='submit'>\
        <field var='FORM_TYPE' type='hidden'><value>http://jabber.org/protocol/pubsub#publish-options</value></field>\
        <field var='pubsub#persist_items'><value>true</value></field>\
        <field var='pubsub#max_items'><value>max</value></field>\
        <field var='pubsub#send_last_published_item'><value>never</value></field>\
        <field var='pubsub#access_model'><value>whitelist</value></field></x></publish-options></pubsub>
        """)
    #expect(
      node.retraction(of: ["a@b"]).payload.first?.xmlString() == """
        <pubsub xmlns='http://jabber.org/protocol/pubsub'>\
        <retract node='urn:xmpp:mds:displayed:0' notify='true'><item id='a@b'/></retract></pubsub>
        """)
    #expect(node.notification == "urn:xmpp:mds:displayed:0+notify")
  }

  private func event(_ content: String, from: String? = "juliet@capulet.lit", type: String = "headline")
    throws
    -> PubSub.Event?
  {
    let from = from.map { "from='\($0)' " } ?? ""
    return PubSub.Event(
      try message(
        "<message \(from)type='\(type)'><event xmlns='http://jabber.org/protocol/pubsub#event'>\(content)</event></message>"
      ), own: own)
  }

  @Test("An event of a private node names the items that were published or retracted.")
  func events() throws {
    let told = try #require(
      try event(
        "<items node='n'><item id='a'><x xmlns='y'/></item><retract id='b'/><item/><retract/><other id='c'/></items>"
      ))
    #expect(told.node == "n")
    #expect(
      told.changes == [.published(.init("a", XMLElement("x", namespace: "y"))), .retracted("b")])
    #expect(try event("<purge node='n'/>")?.changes == [.purged])
    #expect(try event("<delete node='n'/>")?.changes == [.purged])
    #expect(try event("<configuration node='n'/>") == nil)
    #expect(try event("<items/>") == nil)
    #expect(try event("<items node='n'/>", type: "error") == nil)
  }

  @Test(
    "An event of a private node is accepted only from the own bare JID.",
    arguments: [
      nil, "romeo@montegue.lit", "juliet@capulet.lit/balcony", "capulet.lit", "juliet@capulet.lit.evil",
      "jul\u{456}et@capulet.lit", "pubsub.capulet.lit",
    ])
  func forged(from: String?) throws {
    #expect(try event("<items node='n'><item id='a'/></items>", from: from) == nil)
    #expect(try event("<items node='n'><item id='a'/></items>") != nil)
  }

  @Test("A page of items names the item before the next page, and an answer for another node is refused.")
  func pages() throws {
    func page(_ content: String) throws -> ItemsPage? {
      ItemsPage(
        try iq(
          "<iq type='result' id='1'><pubsub xmlns='http://jabber.org/protocol/pubsub'>\(content)</pubsub></iq>"
        ), node: "n")
    }
    let set =
      "<set xmlns='http://jabber.org/protocol/rsm'><first index='0'>a</first><last>b</last><count>9</count></set>"
    let whole = try #require(try page("<items node='n'><item id='a'><x xmlns='y'/></item></items>"))
    #expect(whole.items == [.init("a", XMLElement("x", namespace: "y"))])
    #expect(whole.next == nil)
    #expect(try page("<items node='n'><item id='a'/><item id='b'/></items>" + set)?.next == "b")
    #expect(try page("<items node='n'/>" + set)?.next == nil)
    #expect(try page("")?.items.isEmpty == true)
    #expect(try page("<items node='m'/>") == nil)
    #expect(try ItemsPage(iq("<iq type='result' id='1'/>"), node: "n") == nil)
  }

  // MARK: Servers

  private static func stream(
    _ account: String, password: String, port: Int, caFile: String
  ) throws -> XMPPStream {
    XMPPStream(try StreamConfiguration(account, password: password, port: port, caFile: caFile))
  }

  @Test(
    "A client publishes nothing to a server that does not announce support for publish-options.")
  func withoutOptions() async throws {
    let server = try await ScriptedServer(.login(until: .bound))
    let stream = try Self.stream(
      "alice@" + TestServer.domain, password: "alice-secret", port: server.port,
      caFile: try await TestAuthority.shared.caFile)
    _ = try await stream.connect()
    let bare = ServiceDiscovery(identities: [], features: [PubSub.namespace + "#publish"])
    for account in [nil, bare] {
      let failure = await #expect(throws: XMPPError.self) {
        try await node.publish(.init("secret-item"), on: stream, of: account)
      }
      #expect(failure?.condition == "feature-not-implemented")
    }
    await stream.close(patience: .milliseconds(1))
    #expect(!server.received.contains("secret-item"))
    try await server.end()
  }

  /// Two devices of one account.
  private struct Devices {
    let (one, other): (XMPPStream, XMPPStream)
    let own: JID
    let account: ServiceDiscovery

    init(at server: TestServer, _ name: String, hearing node: PrivateNode) async throws {
      let identity = ServiceDiscovery(
        identities: [.init(category: "client", type: "console")],
        features: [Namespaces.discoInfo, Namespaces.capabilities, node.notification])
      let capabilities = try #require(EntityCapabilities(node: "urn:imctl:test", of: identity))
      func online() async throws -> (XMPPStream, JID) {
        var configuration = try PrivateNodeTests.stream(
          server.jid(name), password: server.password(name), port: server.port, caFile: server.caFile
        ).configuration
        configuration.responders = Dictionary(
          [identity.responder(nodes: [capabilities.discoveryNode])], uniquingKeysWith: { $1 })
        let stream = XMPPStream(configuration)
        let jid = try await stream.connect().jid
        try await stream.send([Presence(payload: [capabilities.element]).element])
        // Other servers have asked what the capabilities are by then.
        for await event in stream.events {
          if case .presence(let presence) = event, presence.from == jid { break }
        }
        return (stream, jid)
      }
      let jid: JID
      (one, jid) = try await online()
      (other, _) = try await online()
      own = jid.bare
      account = try #require(try await ServiceDiscovery.ask(own, on: one))
    }

    /// Returns when the other device hears of this change, whatever it hears before: some servers tell twice.
    func hear(_ change: PubSub.Event.Change, of node: PrivateNode) async {
      while let event = await other.next() {
        if case .message(let message) = event, let event = PubSub.Event(message, own: own),
          event.node == node.name, event.changes.contains(change)
        {
          return
        }
      }
    }

    func close() async {
      await one.close()
      await other.close()
    }
  }

  @Test(
    "A real server publishes, lists and retracts the items of a private node and notifies the other device.",
    arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let node = PrivateNode("urn:imctl:test:0")
    let devices = try await Devices(at: server, "carol", hearing: node)
    #expect(PrivateNode.isOffered(in: devices.account))
    #expect(try await node.items(on: devices.one).isEmpty)
    @Sendable func item(_ id: String) -> PubSub.Item {
      .init(id, XMLElement("note", namespace: node.name, text: "of \(id) <&>"))
    }
    @Sendable func publish(_ id: String) async throws {
      try await node.publish(item(id), on: devices.one, of: devices.account)
    }
    // Until the server knows what the other device wants to hear it may say nothing.
    let repeating = Task {
      while !Task.isCancelled {
        try await publish("a@im.example")
        try? await Task.sleep(for: .milliseconds(200))
      }
    }
    await devices.hear(.published(item("a@im.example")), of: node)
    repeating.cancel()
    _ = await repeating.result
    try await publish("b@im.example")
    await devices.hear(.published(item("b@im.example")), of: node)
    let items = try await node.items(on: devices.other)
    #expect(items.sorted { $0.id < $1.id } == [item("a@im.example"), item("b@im.example")])
    #expect(try await node.items(["b@im.example"], on: devices.other) == [item("b@im.example")])
    try await node.retract(["a@im.example", "nothing"], on: devices.one)
    // ejabberd 23 tells nobody.
    if kind != .ejabberd { await devices.hear(.retracted("a@im.example"), of: node) }
    #expect(try await node.items(on: devices.other) == [item("b@im.example")])
    try await node.retract(["b@im.example"], on: devices.one)
    await devices.close()
  }

  @Test(
    "A private node on a real server keeps many items, which are read in parts.",
    arguments: TestServer.Kind.allCases)
  func many(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let node = PrivateNode("urn:imctl:test:many:0")
    let stream = try Self.stream(
      server.jid("carol"), password: server.password("carol"), port: server.port, caFile: server.caFile)
    _ = try await stream.connect()
    let account = try await ServiceDiscovery.ask(stream.configuration.account.bare, on: stream)
    let ids = (1...60).map { "item-\($0)" }
    for id in ids {
      try await node.publish(.init(id, XMLElement("note", namespace: node.name)), on: stream, of: account)
    }
    #expect(try await node.items(by: 25, on: stream).map(\.id).sorted() == ids.sorted())
    await stream.close()
  }

  @Test(
    "Several devices can create a private node at once, and it has the items of all of them.",
    arguments: TestServer.Kind.allCases)
  func contended(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    var streams: [XMPPStream] = []
    for _ in 0..<4 {
      let stream = try Self.stream(
        server.jid("carol"), password: server.password("carol"), port: server.port, caFile: server.caFile)
      _ = try await stream.connect()
      streams.append(stream)
    }
    let account = try await ServiceDiscovery.ask(streams[0].configuration.account.bare, on: streams[0])
    for number in 0..<5 {
      let node = PrivateNode("urn:imctl:test:contended:\(number)")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, stream) in streams.enumerated() {
          group.addTask {
            let item = PubSub.Item("\(index)", XMLElement("note", namespace: node.name))
            try await node.publish(item, on: stream, of: account)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await node.items(on: streams[0]).map(\.id).sorted() == ["0", "1", "2", "3"])
    }
    for stream in streams { await stream.close() }
  }

  @Test(
    "A private node that another client has opened to contacts is closed before an item is published.",
    arguments: TestServer.Kind.allCases)
  func open(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let node = PrivateNode("urn:imctl:test:open:0")
    let owner = try Self.stream(
      server.jid("carol"), password: server.password("carol"), port: server.port, caFile: server.caFile)
    let own = try await owner.connect().jid.bare
    let friend = try Self.stream(
      server.jid("bob"), password: server.password("bob"), port: server.port, caFile: server.caFile)
    _ = try await friend.connect()
    let account = try await ServiceDiscovery.ask(own, on: owner)
    let item = PubSub.Item("old", XMLElement("note", namespace: node.name))
    let open = PubSub.iq(
      .set,
      [
        XMLElement(
          "publish", namespace: PubSub.namespace, attributes: ["node": node.name], children: [item.element]),
        XMLElement(
          "publish-options", namespace: PubSub.namespace,
          children: [PubSub.form(PubSub.publishOptions, ["pubsub#access_model": "open"])]),
      ])
    #expect(try await owner.request(open).error == nil)
    func look() async throws -> IQ {
      var request = ItemsPage.request(node.name)
      request.to = own
      return try await friend.request(request)
    }
    #expect(try await ItemsPage(look(), node: node.name)?.items.map(\.id) == ["old"])
    try await node.publish(.init("new", item.payload), on: owner, of: account)
    #expect(try await look().error != nil)
    #expect(try await node.items(on: owner).map(\.id).sorted() == ["new", "old"])
    await owner.close()
    await friend.close()
  }
}
