import FoundationEssentials
import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct BookmarksTests {
  private func item(_ payload: String, id: String = "theplay@conference.shakespeare.lit") throws
    -> PubSub.Item
  {
    PubSub.Item(id, try element(payload))
  }

  @Test("A bookmark is read from its item, and an item that does not name a room is left out.")
  func read() throws {
    let bookmark = try #require(
      Bookmark(
        try item(
          "<conference xmlns='urn:xmpp:bookmarks:1' name='The Play' autojoin='1'><nick>JC</nick><password>x</password>"
            + "<extensions><pinned xmlns='urn:xmpp:bookmarks-pinning:0'/>"
            + "<notify xmlns='urn:xmpp:notification-settings:1'><never/></notify></extensions></conference>"))
    )
    #expect(bookmark.jid.description == "theplay@conference.shakespeare.lit")
    #expect(
      bookmark.name == "The Play" && bookmark.nick == "JC" && bookmark.password == "x" && bookmark.joins)
    #expect(bookmark.isPinned && bookmark.notification == .never)
    let plain = try #require(Bookmark(try item("<conference xmlns='urn:xmpp:bookmarks:1'/>")))
    #expect(!plain.joins && !plain.isPinned && plain.name == nil && plain.notification == nil)
    #expect(try Bookmark(item("<conference xmlns='urn:xmpp:bookmarks:0'/>")) == nil)
    for id in ["room@conference.example/nick", "@", ""] {
      #expect(try Bookmark(item("<conference xmlns='urn:xmpp:bookmarks:1'/>", id: id)) == nil)
    }
  }

  @Test("Old bookmarks are read from private storage and from their PubSub node.")
  func old() throws {
    let storage =
      "<storage xmlns='storage:bookmarks'><conference name='Council' autojoin='true' jid='council@conference.example'>"
      + "<nick>Puck</nick></conference><conference jid='@'/><url name='x' url='http://example.org/'/></storage>"
    let answer = try iq(
      "<iq type='result' id='1'><query xmlns='jabber:iq:private'>\(storage)</query></iq>")
    for bookmarks in [Bookmark.privateStorage(answer), Bookmark.old(try element(storage))] {
      #expect(bookmarks.map(\.jid.description) == ["council@conference.example"])
      #expect(bookmarks.first?.nick == "Puck" && bookmarks.first?.joins == true)
    }
    #expect(Bookmark.privateStorage(try iq("<iq type='error' id='1'/>")).isEmpty)
    #expect(Bookmark.old(nil).isEmpty)
  }

  @Test("A change of a bookmark keeps the elements that other clients have put there.")
  func foreign() throws {
    let old = try element(
      "<conference xmlns='urn:xmpp:bookmarks:1' name='The Play' x='1'><nick>JC</nick><extensions>"
        + "<state xmlns='urn:example:other' minimized='true'><deep/></state>"
        + "<notify xmlns='urn:xmpp:notification-settings:1'><never identity-category='client' identity-type='phone'/>"
        + "<on-mention><advanced><when xmlns='urn:example:rules'/></advanced></on-mention></notify>"
        + "</extensions></conference>")
    let pinned = Bookmark.payload(old, isPinned: true, notification: .some(.never))
    #expect(
      pinned.xmlString()
        == "<conference xmlns='urn:xmpp:bookmarks:1' name='The Play' x='1'><nick>JC</nick><extensions>"
        + "<state xmlns='urn:example:other' minimized='true'><deep/></state>"
        + "<notify xmlns='urn:xmpp:notification-settings:1'><never identity-category='client' identity-type='phone'/>"
        + "<never><advanced><when xmlns='urn:example:rules'/></advanced></never></notify>"
        + "<pinned xmlns='urn:xmpp:bookmarks-pinning:0'/></extensions></conference>")
    let bare = try element("<conference xmlns='urn:xmpp:bookmarks:1'/>")
    let there = Bookmark.payload(bare, isPinned: true, notification: nil)
    #expect(Bookmark.payload(there, isPinned: false, notification: .some(nil)) == bare)
  }

  @Test(
    "The notification setting that is most specific for a console client applies.",
    arguments: [
      ("<never/><always identity-category='client' identity-type='console'/>", NotificationSetting.always),
      ("<never/><on-mention identity-category='client'/>", .onMention),
      (
        "<on-mention identity-category='client'/><never identity-category='client' identity-type='console'/>",
        .never
      ),
      ("<always identity-category='client' identity-type='phone'/><never/>", .never),
      ("<always identity-category='client' identity-type='phone'/>", nil), ("<unknown/>", nil), ("", nil),
    ])
  func precedence(content: String, setting: NotificationSetting?) throws {
    let notify = try element("<notify xmlns='urn:xmpp:notification-settings:1'>\(content)</notify>")
    #expect(NotificationSetting(notify) == setting)
    // What is set is what counts, whatever others have said.
    for wanted in NotificationSetting.allCases {
      let new = try #require(NotificationSetting.element(wanted, in: notify))
      #expect(NotificationSetting(new) == wanted)
    }
  }
}

@Suite struct ConversationSettingsTests {
  @Test("Conversation settings are read as they were written, and elements of other clients are kept.")
  func payload() throws {
    var settings = ConversationSettings()
    settings.isPinned = true
    settings.notification = .never
    settings.marks = ["later", "work"]
    settings.hiddenBefore = 1_795_219_200.123
    let old = try element(
      "<conversation xmlns='urn:imctl:conversations:0' device='d0' x='1'><mark>old</mark><pinned/>"
        + "<colour xmlns='urn:example:other'>red</colour></conversation>")
    let new = settings.payload(old, device: "d1")
    #expect(ConversationSettings(new) == settings)
    #expect(ConversationSettings.device(in: new) == "d1")
    #expect(new.first("colour", "urn:example:other")?.text == "red" && new["x"] == "1")
    #expect(ConversationSettings(settings.payload(nil, device: nil)) == settings)
    let nothing = ConversationSettings().payload(new, device: "d1")
    #expect(ConversationSettings(nothing) == ConversationSettings())
    #expect(nothing.first("colour", "urn:example:other") != nil)
  }

  @Test("Conversation settings that cannot be parsed are ignored.")
  func odd() throws {
    let odd = ConversationSettings(
      try element(
        "<conversation xmlns='urn:imctl:conversations:0'><mark/><mark>a\u{7}b</mark><mark>\(String(repeating: "x", count: 300))</mark>"
          .replacing("\u{7}", with: "\n")
          + "<hidden before='yesterday'/><notify xmlns='urn:xmpp:notification-settings:1'/></conversation>"))
    #expect(odd == ConversationSettings())
    #expect(ConversationSettings(try element("<other/>")) == ConversationSettings())
    #expect(ConversationSettings(nil) == ConversationSettings())
    let many = (0..<100).map { "<mark>\($0)</mark>" }.joined()
    let settings = ConversationSettings(
      try element("<conversation xmlns='urn:imctl:conversations:0'>\(many)</conversation>"))
    #expect(settings.marks.count == ConversationSettings.maximumMarks)
  }
}

@Suite struct DisplayedMarkerTests {
  @Test("A displayed marker is written as in XEP-0490.")
  func item() throws {
    let marker = DisplayedMarker(
      jid: try JID("romeo@montegue.lit"), id: "0f710f2b", by: try JID("juliet@capulet.lit"))
    #expect(marker.item.id == "romeo@montegue.lit")
    #expect(
      marker.item.payload?.xmlString()
        == "<displayed xmlns='urn:xmpp:mds:displayed:0'>"
        + "<stanza-id xmlns='urn:xmpp:sid:0' by='juliet@capulet.lit' id='0f710f2b'/></displayed>")
    #expect(DisplayedMarker(marker.item) == marker)
    for payload in [
      "<displayed xmlns='xrn:xmpp:mds:displayed:0'/>", "<displayed xmlns='urn:xmpp:mds:displayed:0'/>",
      "<displayed xmlns='urn:xmpp:mds:displayed:0'><stanza-id xmlns='urn:xmpp:sid:0' id='' by='a@b'/></displayed>",
      "<displayed xmlns='urn:xmpp:mds:displayed:0'><stanza-id xmlns='urn:xmpp:sid:0' id='1'/></displayed>",
    ] {
      #expect(DisplayedMarker(PubSub.Item("a@b", try element(payload))) == nil)
    }
    #expect(DisplayedMarker(PubSub.Item("@", marker.item.payload)) == nil)
  }
}

@Suite struct AccountEventTests {
  @Test(
    "An account event is read as it was written, its ids sort by time, and only the newest events are kept."
  )
  func item() throws {
    let event = AccountEvent(.decline, jid: try JID("romeo@montague.example"), device: "d1")
    let items = (0..<250).map { event.item(at: 1_795_219_200 + Double($0)) }
    #expect(items.allSatisfy { AccountEvent($0) == event })
    #expect(items.map(\.id) == items.map(\.id).sorted())
    #expect(AccountEvent.excess(of: items.shuffled()) == items.prefix(50).map(\.id))
    #expect(AccountEvent.excess(of: Array(items.prefix(200))).isEmpty)
    #expect(
      AccountEvent(PubSub.Item("x", try element("<event xmlns='urn:imctl:events:0' jid='a@b'/>"))) == nil)
    #expect(AccountEvent(PubSub.Item("x")) == nil)
  }
}
