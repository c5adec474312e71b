import FoundationEssentials
import TestSupport
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct ArchiveTests {
  private let own: JID
  init() throws { own = try JID("juliet@capulet.example") }

  private func result(_ id: String, query: String, from: String? = nil, body: String = "hi") throws -> Message
  {
    try message(
      "<message \(from.map { "from='\($0)' " } ?? "")to='juliet@capulet.example/balcony'>"
        + "<result xmlns='urn:xmpp:mam:2' queryid='\(query)' id='\(id)'><forwarded xmlns='urn:xmpp:forward:0'>"
        + "<delay xmlns='urn:xmpp:delay' stamp='2010-07-10T23:08:25Z'/>"
        + "<message xmlns='jabber:client' from='romeo@montague.example/x' to='juliet@capulet.example'>"
        + "<body>\(body)</body></message></forwarded></result></message>")
  }

  private func end(last: String?, complete: Bool = false) throws -> IQ {
    let set =
      last.map { "<first index='0'>a</first><last>\($0)</last><count>9</count>" } ?? "<count>0</count>"
    return try #require(
      IQ(
        element(
          "<iq xmlns='jabber:client' type='result' id='1'><fin xmlns='urn:xmpp:mam:2' complete='\(complete)'>"
            + "<set xmlns='http://jabber.org/protocol/rsm'>\(set)</set></fin></iq>")))
  }

  @Test("A page is complete when its end and its last message have been handled, in either order.")
  func page() throws {
    for endsEarly in [false, true] {
      var page = ArchivePage(.after("a"), maximum: 10, id: "q")
      var taken: [String] = []
      var isEnded = false
      if endsEarly { isEnded = page.ended(with: try end(last: "c")) }
      for id in ["b", "c"] {
        #expect(!page.isComplete)
        taken += [page.collect(try result(id, query: "q"), own: own).result?.id].compactMap(\.self)
      }
      if !endsEarly { isEnded = page.ended(with: try end(last: "c")) }
      #expect(isEnded)
      #expect(page.isComplete && !page.isLast && page.position == "c")
      #expect(taken == ["b", "c"])
    }
  }

  @Test("A page without messages is the last one, and an error does not end a page.")
  func empty() throws {
    var page = ArchivePage(.after(nil), maximum: 10, id: "q")
    let failed = page.ended(with: IQ(type: .error, id: "1"))
    let ended = page.ended(with: try end(last: nil))
    #expect(!failed && ended)
    #expect(page.isComplete && page.isLast && page.position == nil)
    var whole = ArchivePage(.after(nil), maximum: 10, id: "q")
    _ = whole.ended(with: try end(last: "z", complete: true))
    #expect(whole.isLast && !whole.isComplete)
  }

  @Test(
    "A result of another query or from another sender is ignored.",
    arguments: [
      ("other", nil), ("q", "mallory@evil.example"), ("q", "capulet.example"),
      ("q", "juliet@capulet.example/balcony"), ("q", "room@muc.example"),
    ] as [(String, String?)])
  func foreign(query: String, from: String?) throws {
    var page = ArchivePage(.after(nil), maximum: 10, id: "q")
    let taken = page.collect(try result("b", query: query, from: from), own: own)
    #expect(!taken.belongs && page.count == 0)
  }

  @Test("A result beyond the requested number is ignored.")
  func tooMany() throws {
    var page = ArchivePage(.before(nil), maximum: 2, id: "q")
    var taken: [Bool] = []
    for id in ["a", "b", "c"] { taken.append(page.collect(try result(id, query: "q"), own: own).belongs) }
    #expect(taken == [true, true, false])
  }

  @Test("A result without a message counts as read.")
  func unreadable() throws {
    var page = ArchivePage(.after(nil), maximum: 2, id: "q")
    let odd = try message("<message><result xmlns='urn:xmpp:mam:2' queryid='q' id='b'/></message>")
    let taken = page.collect(odd, own: own)
    #expect(taken.belongs && taken.result == nil)
    let ended = page.ended(with: try end(last: "b"))
    #expect(ended)
    #expect(page.isComplete)
  }

  @Test("A request for a page has the form of XEP-0313.")
  func request() throws {
    let start = Date(timeIntervalSince1970: 1_278_802_105)
    let page = ArchivePage(.after("09af3-cc343-b409f"), maximum: 10, with: own, start: start, id: "f27")
    #expect(
      page.request.payload.first?.xmlString() == """
        <query xmlns='urn:xmpp:mam:2' queryid='f27'><x xmlns='jabber:x:data' type='submit'>\
        <field var='FORM_TYPE' type='hidden'><value>urn:xmpp:mam:2</value></field>\
        <field var='with'><value>juliet@capulet.example</value></field>\
        <field var='start'><value>2010-07-10T22:48:25.000Z</value></field></x>\
        <set xmlns='http://jabber.org/protocol/rsm'><max>10</max><after>09af3-cc343-b409f</after></set></query>
        """)
  }

  @Test("The preferences say whether the archive keeps every message.")
  func preferences() throws {
    func keeps(_ xml: String) throws -> Bool {
      Archive.keepsEverything(
        try #require(IQ(element("<iq xmlns='jabber:client' type='result' id='1'>\(xml)</iq>"))))
    }
    #expect(try keeps("<prefs xmlns='urn:xmpp:mam:2' default='always'><always/><never/></prefs>"))
    #expect(try !keeps("<prefs xmlns='urn:xmpp:mam:2' default='never'/>"))
    #expect(try !keeps("<prefs xmlns='urn:xmpp:mam:2' default='roster'/>"))
    #expect(
      try !keeps("<prefs xmlns='urn:xmpp:mam:2' default='always'><never><jid>a@b</jid></never></prefs>"))
    #expect(try keeps(""))
  }

  @Test(
    "The archive of a real server is read page by page, backwards and forwards.",
    arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let stream = XMPPStream(try StreamConfiguration("carol", on: server))
    let own = try await stream.connect().jid.bare
    let discovery = try #require(try await ServiceDiscovery.ask(own, on: stream))
    #expect(Archive.isOffered(in: discovery))
    #expect(Archive.keepsEverything(try await stream.request(Archive.preferencesRequest())))

    func read(_ part: ResultSet.Part, _ maximum: Int) async throws -> (ArchivePage, [Archive.Result]) {
      var page = ArchivePage(part, maximum: maximum)
      var results: [Archive.Result] = []
      let ended = page.ended(with: try await stream.request(page.request))
      #expect(ended)
      while !page.isComplete, let event = await stream.next() {
        if case .message(let message) = event, let result = page.collect(message, own: own).result {
          results.append(result)
        }
      }
      return (page, results)
    }
    let (before, _) = try await read(.before(nil), 1)
    let to = try JID("bob@" + TestServer.domain)
    for number in 1...5 {
      var message = Message(type: .chat, to: to, id: "m\(number)", body: "number \(number)")
      message.payload.append(StanzaID.origin("m\(number)"))
      try await stream.send([message.element])
    }
    var position = before.position
    var bodies: [String?] = []
    var origins: [String?] = []
    while true {
      let (page, results) = try await read(.after(position), 2)
      bodies += results.map(\.message.body)
      origins += results.map { StanzaID.origin(of: $0.message) }
      position = page.position ?? position
      if page.isLast { break }
    }
    #expect(bodies == (1...5).map { "number \($0)" })
    #expect(origins == (1...5).map { "m\($0)" })
    await stream.close()
  }
}
