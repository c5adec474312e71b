import TestSupport
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite("Service discovery")
struct ServiceDiscoveryTests {
  /// The answer of a server.
  private static let server = """
    <iq type='result' id='1'><query xmlns='http://jabber.org/protocol/disco#info'>
    <identity category='server' type='im' name='Prosody'/><identity type='im'/><identity xmlns='other'/>
    <feature var='urn:xmpp:ping'/><feature var='urn:xmpp:time'/><feature/><feature var='urn:xmpp:ping'/>
    <x xmlns='jabber:x:data' type='result'>
    <field type='hidden' var='FORM_TYPE'><value>http://jabber.org/network/serverinfo</value></field>
    <field type='list-multi' var='abuse-addresses'><value>mailto:abuse@im.example</value>
    <value>xmpp:abuse@im.example</value></field>
    <field type='list-multi' var='admin-addresses'/>
    </x></query></iq>
    """

  @Test(
    "An answer to service discovery is read with its identities, features and forms, without invalid parts."
  )
  func answer() throws {
    let discovery = try #require(ServiceDiscovery(try iq(Self.server)))
    #expect(discovery.identities == [.init(category: "server", type: "im", name: "Prosody")])
    #expect(discovery.features == ["urn:xmpp:ping", "urn:xmpp:time"])
    #expect(
      ContactAddresses.addresses(in: discovery) == [
        "abuse": ["mailto:abuse@im.example", "xmpp:abuse@im.example"]
      ])
    #expect(ServiceDiscovery(try iq("<iq type='result' id='1'/>")) == nil)
  }

  @Test("The number of identities and features that are kept of an answer is limited.")
  func bounded() throws {
    let features = (0..<3000).map { "<feature var='f\($0)'/>" }.joined()
    let identities = (0..<3000).map { "<identity category='c' type='t\($0)'/>" }.joined()
    let answer = try iq(
      "<iq type='result' id='1'><query xmlns='http://jabber.org/protocol/disco#info'>\(identities)\(features)"
        + "</query></iq>")
    let discovery = try #require(ServiceDiscovery(answer))
    #expect(discovery.features.count == 1000 && discovery.identities.count == 50)
    let items = (0..<3000).map { "<item jid='i\($0).example'/>" }.joined()
    let list = try iq(
      "<iq type='result' id='1'><query xmlns='http://jabber.org/protocol/disco#items'><item jid='@'/>\(items)"
        + "</query></iq>")
    #expect(ServiceItem.items(of: list)?.count == 1000)
  }

  @Test("A client answers service discovery for itself and its own node, and refuses any other node.")
  func responder() throws {
    let own = ServiceDiscovery(
      identities: [.init(category: "client", type: "console", name: "imctl")], features: ["b", "a"])
    let (name, respond) = own.responder(nodes: ["urn:x#1"])
    let bob = try JID("bob@im.example/x")
    for node in [nil, "urn:x#1"] {
      var question = ServiceDiscovery.request(bob, node: node)
      #expect(question.payload.first?.name == name)
      (question.from, question.id) = (bob, "7")
      let answer = try #require(respond(question))
      #expect(answer.to == bob && answer.id == "7" && answer.payload.first?["node"] == node)
      #expect(ServiceDiscovery(answer) == own)
      question.type = .set
      #expect(respond(question) == nil)
    }
    var other = ServiceDiscovery.request(bob, node: "urn:x#2")
    (other.from, other.id) = (bob, "8")
    #expect(respond(other)?.error?.condition == .itemNotFound)
  }
}

@Suite("Entity capabilities")
struct EntityCapabilitiesTests {
  private static let features: Set<String> = [
    "http://jabber.org/protocol/caps", "http://jabber.org/protocol/disco#info",
    "http://jabber.org/protocol/disco#items", "http://jabber.org/protocol/muc",
  ]

  // The examples of XEP-0115 §5.2 and §5.3.
  @Test("The verification string is that of the simple example in XEP-0115.")
  func simple() throws {
    let exodus = ServiceDiscovery(
      identities: [.init(category: "client", type: "pc", name: "Exodus 0.9.1")], features: Self.features)
    let capabilities = try #require(EntityCapabilities(node: "http://code.google.com/p/exodus", of: exodus))
    #expect(capabilities.version == "QgayPKawpkPSDYmwT/WM94uAlu0=")
    #expect(capabilities.discoveryNode == "http://code.google.com/p/exodus#QgayPKawpkPSDYmwT/WM94uAlu0=")
    #expect(
      capabilities.element
        == XMLElement(
          "c", namespace: "http://jabber.org/protocol/caps",
          attributes: [
            "hash": "sha-1", "node": "http://code.google.com/p/exodus", "ver": "QgayPKawpkPSDYmwT/WM94uAlu0=",
          ]))
  }

  @Test("The verification string is that of the example in XEP-0115 with several languages and a form.")
  func complex() throws {
    let answer = try iq(
      """
      <iq type='result' id='1'><query xmlns='http://jabber.org/protocol/disco#info'>
      <identity xml:lang='en' category='client' name='Psi 0.11' type='pc'/>
      <identity xml:lang='el' category='client' name='Ψ 0.11' type='pc'/>
      \(Self.features.map { "<feature var='\($0)'/>" }.joined())
      <x xmlns='jabber:x:data' type='result'>
      <field var='FORM_TYPE' type='hidden'><value>urn:xmpp:dataforms:softwareinfo</value></field>
      <field var='ip_version' type='text-multi'><value>ipv4</value><value>ipv6</value></field>
      <field var='os'><value>Mac</value></field><field var='os_version'><value>10.5.1</value></field>
      <field var='software'><value>Psi</value></field><field var='software_version'><value>0.11</value></field>
      </x></query></iq>
      """)
    let discovery = try #require(ServiceDiscovery(answer))
    #expect(EntityCapabilities.verification(of: discovery) == "q07IKJEyjvHSyhy//CH0CxmKi8w=")
  }

  /// The answer with these children, and the hidden type of a form.
  private static func verification(_ children: String) throws -> String? {
    let children = children.replacing(
      "<TYPE/>", with: "<field var='FORM_TYPE' type='hidden'><value>urn:x</value></field>")
    let answer = try iq(
      "<iq type='result' id='1'><query xmlns='http://jabber.org/protocol/disco#info'>\(children)</query></iq>"
    )
    return EntityCapabilities.verification(of: try #require(ServiceDiscovery(answer)))
  }

  private static let identity = "<identity category='client' type='pc' name='a'/>"
  private static let form = "<x xmlns='jabber:x:data' type='result'><TYPE/></x>"

  @Test(
    "An ill-formed answer has no verification string.",
    arguments: [
      identity + identity, "<feature var='a'/><feature var='a'/>", form + form,
      """
      <x xmlns='jabber:x:data' type='result'><field var='FORM_TYPE' type='hidden'><value>a</value>\
      <value>b</value></field></x>
      """,
    ])
  func illFormed(children: String) throws { #expect(try Self.verification(children) == nil) }

  @Test("The verification string leaves out a form with no FORM_TYPE, or with one that is not hidden.")
  func untyped() throws {
    let bare = try Self.verification(Self.identity)
    for field in [
      "<field var='FORM_TYPE'><value>urn:x</value></field>", "<field var='os'><value>x</value></field>",
    ] {
      #expect(
        try Self.verification(Self.identity + "<x xmlns='jabber:x:data' type='result'>\(field)</x>") == bare)
    }
    #expect(try Self.verification(Self.identity + Self.form) != bare)
  }

  @Test(
    "The verification string sorts identities by category, then type, then language, and not as joined texts."
  )
  func sorting() {
    // "-" sorts before "/": as joined strings, `client-x/` would precede `client/`.
    let discovery = ServiceDiscovery(
      identities: [.init(category: "client-x", type: "a"), .init(category: "client", type: "z")], features: []
    )
    let text = "client/z//<client-x/a//<"
    #expect(
      EntityCapabilities.verification(of: discovery)
        == (try? Digest.sha1.hash(text.utf8)).map(Base64.encode))
  }

  @Test("The verification string covers the complete answer to service discovery, including its forms.")
  func answered() throws {
    let form = try #require(
      DataForm(
        try iq(
          """
          <iq type='result' id='1'><x xmlns='jabber:x:data' type='result'>\
          <field var='FORM_TYPE' type='hidden'><value>urn:x</value></field>\
          <field var='os' label='System' type='text-multi'><value>a</value><value>b</value></field></x></iq>
          """
        ).payload[0], type: "result"))
    let own = ServiceDiscovery(
      identities: [.init(category: "client", type: "pc", name: "a", language: "en")], features: Self.features,
      forms: [form])
    let answer = IQ(type: .result, id: "1", payload: [own.element(node: "x#y")])
    #expect(ServiceDiscovery(answer) == own)
    #expect(EntityCapabilities.verification(of: own) != nil)
  }
}
