import FoundationEssentials
import TestSupport
import Testing
import XMPP
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite("The time of an entity")
struct EntityTimeTests {
  @Test("The time of an entity is read from its answer with its time zone and a fraction of a second.")
  func answer() throws {
    let answer = try iq(
      "<iq type='result' id='1'><time xmlns='urn:xmpp:time'><tzo>-06:00</tzo>"
        + "<utc>2006-12-19T17:58:35.25Z</utc></time></iq>")
    let time = try #require(EntityTime(answer))
    #expect(time == EntityTime(utc: Date(timeIntervalSince1970: 1_166_551_115.25), offset: -21_600))
  }

  @Test(
    "An answer without a valid time is ignored.",
    arguments: [
      "<time xmlns='urn:xmpp:time'/>", "<time xmlns='urn:xmpp:time'><tzo>Z</tzo></time>",
      "<time xmlns='urn:xmpp:time'><utc>292277026596-01-01T00:00:00Z</utc></time>",
      "<time xmlns='urn:xmpp:time'><utc>now</utc></time>",
      "<time xmlns='other'><utc>2006-12-19T17:58:35Z</utc></time>", "",
    ])
  func noAnswer(child: String) throws {
    #expect(EntityTime(try iq("<iq type='result' id='1'>\(child)</iq>")) == nil)
    #expect(EntityTime(try iq("<iq type='error' id='1'>\(child)</iq>")) == nil)
  }

  @Test("An entity answers a request for its time in a form that it can read itself.")
  func responder() throws {
    let now = EntityTime(utc: Date(timeIntervalSince1970: 1_795_262_400), offset: 19_800)
    let (name, respond) = EntityTime.responder { now }
    let bob = try JID("bob@im.example/x")
    var question = EntityTime.request(bob)
    #expect(question.payload.first?.name == name)
    (question.from, question.id) = (bob, "7")
    let answer = try #require(respond(question))
    #expect(answer.to == bob && answer.id == "7")
    #expect(EntityTime(answer) == now)
    question.type = .set
    #expect(respond(question) == nil)
  }
}

@Suite("The software version of an entity")
struct SoftwareVersionTests {
  @Test("The software version of an entity is read from its answer, and long texts are cut.")
  func answer() throws {
    let answer = try iq(
      "<iq type='result' id='1'><query xmlns='jabber:iq:version'><name>Exodus</name>"
        + "<version>0.7.0.4</version><os>Windows-XP 5.01.2600</os></query></iq>")
    #expect(
      SoftwareVersion(answer)
        == SoftwareVersion(name: "Exodus", version: "0.7.0.4", system: "Windows-XP 5.01.2600"))
    let long = String(repeating: "e\u{301}", count: 100_000)
    let endless = try iq(
      "<iq type='result' id='1'><query xmlns='jabber:iq:version'><name>\(long)</name></query></iq>")
    #expect(SoftwareVersion(endless)?.name?.unicodeScalars.count == 256)
    #expect(
      SoftwareVersion(try iq("<iq type='result' id='1'><query xmlns='jabber:iq:version'/></iq>")) == nil)
  }

  @Test("An entity answers a request for its software version in a form that it can read itself.")
  func responder() throws {
    let (name, respond) = SoftwareVersion(name: "imctl", version: "1").responder
    let bob = try JID("bob@im.example/x")
    var question = SoftwareVersion.request(bob)
    #expect(question.payload.first?.name == name)
    (question.from, question.id) = (bob, "7")
    let answer = try #require(respond(question))
    #expect(answer.to == bob && answer.id == "7")
    #expect(SoftwareVersion(answer) == SoftwareVersion(name: "imctl", version: "1"))
    question.type = .set
    #expect(respond(question) == nil)
  }
}
