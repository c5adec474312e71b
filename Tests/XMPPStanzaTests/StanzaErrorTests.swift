import Testing
import XMPPXML

@testable import XMPPStanza

@Suite struct StanzaErrorTests {
  private let namespace = Namespaces.stanzaErrors

  @Test("A stanza error is read with its type, condition, address, text and extensions.")
  func read() throws {
    let element = XMLElement(
      "error", namespace: Namespaces.client, attributes: ["type": "cancel", "by": "Example.net"],
      children: [
        XMLElement("gone", namespace: namespace, text: "xmpp:romeo@afterlife.example.net"),
        XMLElement("text", namespace: namespace, text: "moved"),
        XMLElement("moved", namespace: "urn:example"),
      ])
    let error = try #require(StanzaError(element))
    #expect(error.type == .cancel && error.condition == .gone && error.text == "moved")
    #expect(error.address == "xmpp:romeo@afterlife.example.net")
    #expect(error.by == (try JID("example.net")))
    #expect(error.applicationConditions.map(\.name.local) == ["moved"])
    #expect(StanzaError(error.element) == error)
  }

  @Test("A condition or type of a stanza error that RFC 6120 does not define is kept.")
  func unknown() throws {
    let element = XMLElement(
      "error", namespace: Namespaces.client, attributes: ["type": "later"],
      children: [XMLElement("payment-required", namespace: namespace)])
    let error = try #require(StanzaError(element))
    #expect(error.condition.rawValue == "payment-required" && error.type.rawValue == "later")
    #expect(StanzaError(error.element) == error)
  }

  @Test("A stanza error without a condition has the undefined condition.")
  func empty() throws {
    let error = try #require(StanzaError(XMLElement("error", namespace: Namespaces.client)))
    #expect(error == StanzaError(.undefined) && error.condition.rawValue == "undefined-condition")
    #expect(StanzaError(XMLElement("error", namespace: Namespaces.streams)) == nil)
  }

  @Test("The text may precede the condition, and an element of another namespace is not the condition.")
  func order() throws {
    let element = XMLElement(
      "error", namespace: Namespaces.client,
      children: [
        XMLElement("text", namespace: namespace, text: "a"), XMLElement("conflict", namespace: "urn:example"),
        XMLElement("forbidden", namespace: namespace), XMLElement("conflict", namespace: namespace),
      ])
    let error = try #require(StanzaError(element))
    #expect(error.condition == .forbidden && error.type == .auth && error.text == "a")
  }

  @Test("A condition has the type that RFC 6120 recommends for it.")
  func usualTypes() {
    #expect(StanzaError.Condition.badRequest.usualType == .modify)
    #expect(StanzaError.Condition.serviceUnavailable.usualType == .cancel)
    #expect(StanzaError.Condition.notAuthorized.usualType == .auth)
    #expect(StanzaError.Condition.resourceConstraint.usualType == .wait)
  }
}

@Suite struct StreamErrorTests {
  @Test("A stream error is read with its condition, address, text and extension.")
  func read() throws {
    let namespace = Namespaces.streamErrors
    let element = XMLElement(
      "error", namespace: Namespaces.streams,
      children: [
        XMLElement("see-other-host", namespace: namespace, text: "[2001:db8::1]:9222"),
        XMLElement("text", namespace: namespace, text: "go there"),
        XMLElement("why", namespace: "urn:example"),
      ])
    let error = try #require(StreamError(element))
    #expect(error.condition == .seeOtherHost && error.address == "[2001:db8::1]:9222")
    #expect(error.text == "go there" && error.applicationConditions.map(\.name.local) == ["why"])
    #expect(StreamError(error.element) == error)
    #expect(StreamError(XMLElement("error", namespace: Namespaces.client)) == nil)
  }

  @Test("A stream error keeps a condition that RFC 6120 does not define, and a missing one is undefined.")
  func unknown() throws {
    let error = try #require(
      StreamError(
        XMLElement(
          "error", namespace: Namespaces.streams,
          children: [XMLElement("bored", namespace: Namespaces.streamErrors)])))
    #expect(error.condition.rawValue == "bored")
    #expect(StreamError(XMLElement("error", namespace: Namespaces.streams)) == StreamError(.undefined))
  }
}
