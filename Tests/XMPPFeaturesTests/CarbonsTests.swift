import TestSupport
import Testing
import XMPPStanza

@testable import XMPPFeatures

@Suite struct CarbonsTests {
  private let own: JID
  init() throws { own = try JID("romeo@montague.example") }

  private func carbon(
    from: String?, _ kind: String, inner: String, forwarded: String = "urn:xmpp:forward:0"
  ) throws -> Message {
    try message(
      "<message \(from.map { "from='\($0)' " } ?? "")to='romeo@montague.example/home'>"
        + "<\(kind) xmlns='urn:xmpp:carbons:2'><forwarded xmlns='\(forwarded)'>\(inner)</forwarded></\(kind)>"
        + "</message>")
  }

  private let incoming =
    "<message xmlns='jabber:client' from='juliet@capulet.example/balcony' to='romeo@montague.example/garden'>"
    + "<body>What man art thou</body></message>"
  private let outgoing =
    "<message xmlns='jabber:client' to='juliet@capulet.example/balcony' from='romeo@montague.example/home'>"
    + "<body>Neither, fair saint</body></message>"

  @Test("Carbon copies from the account's own server are accepted in both directions.")
  func copies() throws {
    let received = try carbon(from: own.description, "received", inner: incoming)
    let copy = try #require(Carbons.copy(in: received, own: own))
    #expect(!copy.isSent && copy.message.body == "What man art thou")
    let sent = try #require(
      Carbons.copy(in: carbon(from: own.description, "sent", inner: outgoing), own: own))
    #expect(sent.isSent)
    #expect(try sent.message.to == JID("juliet@capulet.example/balcony"))
  }

  @Test(
    "A carbon copy from anybody but the account's own server is ignored.",
    arguments: [
      nil, "mallory@evil.example", "romeo@montague.example/home", "montague.example",
      "room@muc.example/romeo",
      "rоmeo@montague.example", "romeo@montague.example.evil",
    ])
  func forged(from: String?) throws {
    let forged = try carbon(from: from, "received", inner: incoming)
    #expect(Carbons.isClaimed(by: forged))
    #expect(Carbons.copy(in: forged, own: own) == nil)
  }

  @Test("A carbon copy of a message that the account has neither sent nor received is ignored.")
  func notOurs() throws {
    #expect(try Carbons.copy(in: carbon(from: own.description, "sent", inner: incoming), own: own) == nil)
    #expect(try Carbons.copy(in: carbon(from: own.description, "received", inner: outgoing), own: own) == nil)
    #expect(try Carbons.copy(in: carbon(from: own.description, "received", inner: ""), own: own) == nil)
    #expect(
      try Carbons.copy(
        in: carbon(from: own.description, "received", inner: incoming, forwarded: "other"), own: own) == nil)
  }
}
