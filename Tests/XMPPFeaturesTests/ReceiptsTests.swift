import TestSupport
import Testing
import XMPPStanza

@testable import XMPPFeatures

@Suite struct ReceiptsTests {
  private let request = "<request xmlns='urn:xmpp:receipts'/>"

  @Test("A receipt goes to the sender of the request, with the id and the type of the message.")
  func answer() throws {
    let asked = try message(
      "<message from='northumberland@shakespeare.lit/westminster' id='richard2-4.1.247' type='chat'>"
        + "<body>My lord, dispatch; read o'er these articles.</body>\(request)</message>")
    let answer = try #require(Receipts.answer(to: asked))
    #expect(answer.to == asked.from && answer.type == .chat && answer.body == nil)
    #expect(Receipts.confirmed(by: answer) == "richard2-4.1.247")
  }

  @Test(
    "No receipt is sent for a message without a request, id or sender, nor for an error, a room message or a receipt.",
    arguments: [
      "<message from='a@b' id='1'/>", "<message from='a@b'>REQUEST</message>",
      "<message from='a@b' id=''>REQUEST</message>", "<message id='1'>REQUEST</message>",
      "<message from='a@b' id='1' type='error'>REQUEST</message>",
      "<message from='a@b/c' id='1' type='groupchat'>REQUEST</message>",
      "<message from='a@b' id='1'>REQUEST<received xmlns='urn:xmpp:receipts' id='2'/></message>",
      "<message from='a@b' id='1'><request xmlns='urn:example'/></message>",
    ])
  func unanswered(xml: String) throws {
    #expect(try Receipts.answer(to: message(xml.replacing("REQUEST", with: request))) == nil)
  }

  @Test("A receipt that is an error, comes from a room or has no id is ignored.")
  func none() throws {
    for (type, id) in [("chat", ""), ("error", "1"), ("groupchat", "1")] {
      let stanza = try message(
        "<message from='a@b' type='\(type)'><received xmlns='urn:xmpp:receipts' id='\(id)'/></message>")
      #expect(Receipts.confirmed(by: stanza) == nil)
    }
    let old = try message("<message from='a@b' id='1'><received xmlns='urn:xmpp:receipts'/></message>")
    #expect(Receipts.confirmed(by: old) == nil)
  }
}

@Suite struct ChatMarkersTests {
  @Test(
    "Each chat marker is read as it was written, and a marker in an error or without an id is ignored.",
    arguments: ChatMarkers.Marker.allCases)
  func markers(marker: ChatMarkers.Marker) throws {
    let written = Message(type: .chat, payload: [ChatMarkers.element(marker, id: "message-1")])
    let read = try #require(ChatMarkers.marker(in: written))
    #expect(read == (marker, "message-1"))
    #expect(ChatMarkers.marker(in: Message(type: .error, payload: written.payload)) == nil)
    #expect(ChatMarkers.marker(in: Message(payload: [ChatMarkers.element(marker, id: "")])) == nil)
    #expect(!ChatMarkers.isRequested(by: written))
    #expect(ChatMarkers.isRequested(by: Message(payload: [ChatMarkers.request])))
  }
}

@Suite struct ChatStateTests {
  @Test("Each chat state is read as it was written.", arguments: ChatState.allCases)
  func states(state: ChatState) {
    #expect(ChatState(of: Message(payload: [state.element])) == state)
    #expect(ChatState(of: Message(type: .error, payload: [state.element])) == nil)
  }

  @Test("An unknown chat state is ignored.")
  func unknown() throws {
    let stanza = try message("<message><dancing xmlns='http://jabber.org/protocol/chatstates'/></message>")
    #expect(ChatState(of: stanza) == nil)
  }
}

@Suite struct CorrectionTests {
  @Test("A correction and a retraction name the message that they refer to, and an error names none.")
  func named() throws {
    let correction = Message(body: "But soft", payload: [Correction.element(of: "bad1")])
    #expect(Correction.replaced(by: correction) == "bad1")
    #expect(Retraction.retracted(by: correction) == nil)
    let retraction = try message(
      "<message type='chat'><retract id='origin-id-1' xmlns='urn:xmpp:message-retract:1'/>"
        + "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:message-retract:1'/><body>/me has retracted</body>"
        + "</message>")
    #expect(Retraction.retracted(by: retraction) == "origin-id-1")
    #expect(Retraction.retracted(by: Message(payload: [Retraction.element(of: "")])) == nil)
    for payload in [correction.payload, retraction.payload] {
      let error = Message(type: .error, payload: payload)
      #expect(Correction.replaced(by: error) == nil && Retraction.retracted(by: error) == nil)
    }
  }
}
