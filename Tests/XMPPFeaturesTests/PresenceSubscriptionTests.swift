import TestSupport
import Testing
import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPXML

@Suite struct PresenceSubscriptionTests {
  private let own: JID
  init() throws { own = try JID("alice@im.example/desk") }

  @Test("Each subscription stanza goes to the bare JID of the contact and has the type of RFC 6121.")
  func stanzas() throws {
    let bob = try JID("bob@im.example/phone")
    func xml(_ presence: Presence) -> String { presence.element.xmlString(inheriting: Namespaces.client) }
    #expect(
      xml(PresenceSubscription.request(bob, text: "hi"))
        == "<presence to='bob@im.example' type='subscribe'><status>hi</status></presence>")
    #expect(
      xml(PresenceSubscription.approval(of: bob)) == "<presence to='bob@im.example' type='subscribed'/>")
    #expect(
      xml(PresenceSubscription.denial(of: bob)) == "<presence to='bob@im.example' type='unsubscribed'/>")
    #expect(
      xml(PresenceSubscription.cancellation(of: bob)) == "<presence to='bob@im.example' type='unsubscribe'/>")
  }

  @Test("A subscription request is read with its text, whose length is limited.")
  func request() throws {
    func request(_ type: Presence.Kind?, from: String?, status: String? = nil) throws
      -> PresenceSubscription.Request?
    {
      PresenceSubscription.Request(
        Presence(type: type, from: try from.map { try JID($0) }, status: status), own: own)
    }
    let long = String(repeating: "x", count: 100_000)
    let read = try #require(try request(.subscribe, from: "bob@im.example/x", status: long))
    #expect(read.jid.description == "bob@im.example")
    #expect(read.text?.count == PresenceSubscription.maximumText)
    #expect(try request(.subscribe, from: "bob@im.example")?.text == nil)
    #expect(try request(.subscribed, from: "bob@im.example") == nil)
    #expect(try request(nil, from: "bob@im.example") == nil)
    #expect(try request(.subscribe, from: nil) == nil)
    #expect(try request(.subscribe, from: "alice@im.example/phone") == nil)
  }

  @Test("The stream features say whether the server supports subscription pre-approval.")
  func preApproval() throws {
    let offer = try element(
      "<features xmlns='http://etherx.jabber.org/streams'><sub xmlns='urn:xmpp:features:pre-approval'/></features>"
    )
    #expect(PresenceSubscription.isPreApprovalOffered(StreamFeatures(offer)))
    #expect(!Roster.isVersioned(StreamFeatures(offer)))
  }
}
