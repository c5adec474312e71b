import TestSupport
import Testing
import XMPPXML

@testable import XMPPStanza

@Suite struct MessageTests {
  @Test("A message is read with its addresses, type, texts and payload.")
  func read() throws {
    let message = try #require(
      Message(
        element(
          """
          <message from='Romeo@example.net/orchard' to='juliet@example.com' type='chat' id='1' xml:lang='en'>
            <subject>Nocturne</subject><body>Art thou not Romeo?</body>
            <body xml:lang='cs'>Nejsi-li Romeo?</body><thread>t-1</thread><x xmlns='urn:example'>kept</x>
          </message>
          """)))
    #expect(message.from == (try JID("romeo@example.net/orchard")))
    #expect(message.to == (try JID("juliet@example.com")))
    #expect(message.type == .chat && message.id == "1" && message.language == "en")
    #expect(message.body == "Art thou not Romeo?")
    #expect(message.bodies == ["en": "Art thou not Romeo?", "cs": "Nejsi-li Romeo?"])
    #expect(message.subject == "Nocturne" && message.thread == "t-1")
    #expect(message.first("x", "urn:example")?.text == "kept")
    #expect(message.error == nil)
    #expect(Message(message.element) == message)
  }

  @Test(
    "A message whose type is missing or unknown has the type normal.",
    arguments: ["", "type='normal'", "type='' ", "type='Chat'"])
  func normal(attribute: String) throws {
    #expect(try Message(element("<message \(attribute)/>"))?.type == .normal)
  }

  @Test("A body in another namespace does not count as the body of a message.")
  func foreignBody() throws {
    let message = try #require(Message(element("<message><body xmlns='urn:example'>x</body></message>")))
    #expect(message.body == nil && message.bodies.isEmpty)
  }

  @Test("Setting the body of a message replaces the bodies of all languages in place.")
  func setBody() throws {
    var message = try #require(
      Message(
        element("<message><a xmlns='b'/><body>x</body><body xml:lang='cs'>y</body><c xmlns='d'/></message>")))
    message.body = "z"
    #expect(message.payload.map(\.name.local) == ["a", "body", "c"])
    #expect(message.bodies == ["": "z"])
    message.body = nil
    #expect(message.payload.map(\.name.local) == ["a", "c"])
  }

  @Test("A message is written with its attributes and its escaped body.")
  func write() throws {
    let message = Message(type: .chat, to: try JID("a@example.com"), id: "1", body: "<&>")
    #expect(
      message.element.xmlString(inheriting: Namespaces.client)
        == "<message to='a@example.com' id='1' type='chat'><body>&lt;&amp;&gt;</body></message>")
    #expect(Message(body: "x").element["type"] == nil)
  }

  @Test("A message is answered with an error to its sender, but an error is never answered.")
  func failure() throws {
    let message = Message(type: .chat, to: try JID("a@b"), from: try JID("c@d"), id: "1", body: "x")
    let answer = try #require(message.failure(StanzaError(.serviceUnavailable)))
    #expect(answer.to == message.from && answer.from == message.to && answer.id == "1")
    #expect(answer.error?.condition == .serviceUnavailable)
    #expect(answer.failure(StanzaError(.badRequest)) == nil)
  }
}

@Suite struct PresenceTests {
  @Test("A presence is read with its type, show, statuses and priority.")
  func read() throws {
    let presence = try #require(
      Presence(
        element(
          """
          <presence from='romeo@example.net/orchard'><show> dnd\n</show><status>Wooing Juliet</status>
          <status xml:lang='cs'>Dvořím se</status><priority>-5</priority></presence>
          """)))
    #expect(presence.type == nil && presence.show == .doNotDisturb && presence.priority == -5)
    #expect(presence.status == "Wooing Juliet")
    #expect(presence.statuses == ["": "Wooing Juliet", "cs": "Dvořím se"])
    #expect(Presence(presence.element) == presence)
  }

  @Test(
    "A priority that is not an integer from -128 to 127 is ignored.",
    arguments: [
      ("0", 0), ("127", 127), ("-128", -128), (" 5\n", 5), ("+5", 5), ("128", 0), ("-129", 0), ("999", 0),
      ("abc", 0), ("", 0), ("1.5", 0), ("1e1", 0), ("0x10", 0), ("٥", 0), ("5 5", 0),
      ("99999999999999999999", 0),
    ] as [(String, Int8)])
  func priority(text: String, expected: Int8) throws {
    let presence = try Presence(element("<presence><priority>\(text)</priority></presence>"))
    #expect(presence?.priority == expected)
  }

  @Test("An unknown type or show of a presence is kept, and an unknown type does not mean available.")
  func unknown() throws {
    let presence = try #require(Presence(element("<presence type='dancing'><show>busy</show></presence>")))
    #expect(presence.type?.rawValue == "dancing" && presence.show?.rawValue == "busy")
    #expect(try Presence(element("<presence type=''/>"))?.type != nil)
    #expect(try Presence(element("<presence><show/></presence>"))?.show == nil)
  }

  @Test("A presence is written with the values that were given, and without the defaults.")
  func write() throws {
    #expect(Presence().element == XMLElement("presence", namespace: Namespaces.client))
    let presence = Presence(show: .extendedAway, status: "lunch", priority: -1)
    #expect(
      presence.element.xmlString(inheriting: Namespaces.client)
        == "<presence><show>xa</show><status>lunch</status><priority>-1</priority></presence>")
    #expect(Presence(type: .unavailable).element["type"] == "unavailable")
  }

  @Test("A presence of type error without an error element has the undefined condition.")
  func error() throws {
    #expect(try Presence(element("<presence type='error'/>"))?.error == StanzaError(.undefined))
  }
}

@Suite struct IQTests {
  @Test("An IQ is read with its type, id, sender and payload.")
  func read() throws {
    let iq = try #require(
      IQ(element("<iq type='get' id='7' from='example.com'><ping xmlns='urn:xmpp:ping'/></iq>")))
    #expect(iq.type == .get && iq.id == "7" && iq.isRequest)
    #expect(iq.child?.name == XMLName("ping", Namespaces.ping))
    #expect(IQ(iq.element) == iq)
  }

  @Test(
    "An IQ without an id, or with an unknown type, is refused.",
    arguments: ["type='get'", "id='1'", "id='1' type=''", "id='1' type='GET'", "id='1' type='sett'"])
  func malformed(attributes: String) throws {
    #expect(try IQ(element("<iq \(attributes)/>")) == nil)
  }

  @Test("A request is answered to its sender, and an answer is never answered.")
  func answers() throws {
    let request = IQ(type: .set, to: try JID("a@b/c"), from: try JID("d"), id: "9")
    let result = try #require(request.result([XMLElement("x", namespace: "y")]))
    #expect(
      result.type == .result && result.to == request.from && result.from == request.to && result.id == "9")
    let failure = try #require(request.failure(StanzaError(.notAllowed, text: "no")))
    #expect(failure.type == .error && failure.error == StanzaError(.notAllowed, text: "no"))
    #expect(failure.child == nil)
    #expect(result.result() == nil && failure.failure(StanzaError(.conflict)) == nil)
  }
}

@Suite struct StanzaAddressTests {
  @Test(
    "A stanza with an invalid address is refused, and so is never taken for one from the server.",
    arguments: ["from", "to"], ["", "@", "a@", "@b", "a@b/", "a＠b", " a@b", "a@b\u{202E}", "a@b@c"])
  func invalid(attribute: String, value: String) throws {
    let attributes: KeyValuePairs<String, String?> = ["id": "1", "type": "get"]
    var message = XMLElement("message", namespace: Namespaces.client)
    var presence = XMLElement("presence", namespace: Namespaces.client)
    var iq = XMLElement("iq", namespace: Namespaces.client, attributes: attributes)
    #expect(Message(message) != nil && Presence(presence) != nil && IQ(iq) != nil)
    message[attribute] = value
    presence[attribute] = value
    iq[attribute] = value
    #expect(Message(message) == nil && Presence(presence) == nil && IQ(iq) == nil)
  }

  @Test("An element with another name or namespace is not a stanza.")
  func otherElements() throws {
    let message = XMLElement("message", namespace: "jabber:server")
    #expect(Message(message) == nil && Presence(message) == nil && IQ(message) == nil)
    #expect(try Message(element("<presence/>")) == nil && Presence(element("<message/>")) == nil)
  }
}
