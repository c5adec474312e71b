import FoundationEssentials
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("The first catch-up of a device with the archive")
struct FirstCatchUpTests {
  private static let own = try! JID("alice@\(TestServer.domain)")
  private static let bob = "bob@\(TestServer.domain)"
  private static let carol = "carol@\(TestServer.domain)"
  private static let now = 1_800_000_000.0

  /// A message of the archive: its id is its text.
  private struct Archived {
    var id: String
    /// Days ago.
    var age: Double
    var from = bob
    var to = own.description
    var type = Message.Kind.chat
    var hasBody = true

    var delay: XMLElement {
      XMLElement(
        "delay", namespace: "urn:xmpp:delay",
        attributes: ["stamp": DateTime.text(Date(timeIntervalSince1970: now - age * 86_400))])
    }

    func result(_ query: String) -> Message {
      let body = hasBody ? [XMLElement("body", namespace: Namespaces.client, text: id)] : []
      let message = XMLElement(
        "message", namespace: Namespaces.client,
        attributes: ["type": type.rawValue, "from": from + "/x", "to": to], children: body)
      let forwarded = XMLElement("forwarded", namespace: "urn:xmpp:forward:0", children: [delay, message])
      let result = XMLElement(
        "result", namespace: Archive.namespace, attributes: ["queryid": query, "id": id],
        children: [forwarded])
      return Message(type: .normal, to: own, from: own, payload: [result])
    }
  }

  /// Has a catch-up read an archive, page by page; gives it, and how many pages it has read.
  private func read(
    _ archive: [Archived], pageSize: Int = 250, _ markers: FirstCatchUp.Markers = [:]
  ) -> (first: FirstCatchUp, pages: Int) {
    var first = FirstCatchUp(own: Self.own, now: Self.now)
    var (end, pages) = (archive.count, 0)
    while let request = first.next(markers) {
      var page = request
      pages += 1
      let part = archive[max(0, end - pageSize)..<end]
      var results: [IncomingMessage] = []
      for message in part {
        results +=
          page.collect(message.result(page.id), own: Self.own).result.flatMap {
            IncomingMessage($0, own: Self.own)
          }.map { [$0] }
          ?? []
      }
      let ends =
        part.isEmpty ? "" : "<first>\(part.first?.id ?? "")</first><last>\(part.last?.id ?? "")</last>"
      _ = page.ended(with: Self.answer(ends, isLast: part.startIndex == 0))
      first.add(page, results)
      end = part.startIndex
    }
    return (first, pages)
  }

  private static func answer(_ ends: String, isLast: Bool) -> IQ {
    let set = XMLElement(
      "set", namespace: "http://jabber.org/protocol/rsm",
      children: ends.isEmpty
        ? []
        : ["first", "last"].map { name in
          let text = ends.split(separator: "<\(name)>").last?.split(separator: "<").first ?? ""
          return XMLElement(name, namespace: "http://jabber.org/protocol/rsm", text: String(text))
        })
    return IQ(
      type: .result,
      payload: [
        XMLElement(
          "fin", namespace: Archive.namespace, attributes: ["complete": isLast ? "true" : nil],
          children: [set])
      ])
  }

  private func texts(_ messages: [IncomingMessage]) -> [String] { messages.compactMap(\.message.body) }

  @Test("All messages of the last days are new, in their order, if the account has displayed none.")
  func lastDays() {
    let archive = [("a", 20.0), ("b", 8), ("c", 6), ("d", 1), ("e", 0)].map { Archived(id: $0, age: $1) }
    for pageSize in [1, 2, 250] {
      let (first, _) = read(archive, pageSize: pageSize)
      #expect(first.position == "e" && first.start == "c")
      let (past, news) = first.sorted([:])
      #expect(texts(past).isEmpty && texts(news) == ["c", "d", "e"])
    }
  }

  @Test("The new messages begin with the first one that was not displayed, not sent, and is no error.")
  func displayed() {
    let archive = [
      Archived(id: "a", age: 3), Archived(id: "b", age: 2, from: Self.carol), Archived(id: "c", age: 2),
      Archived(id: "d", age: 1, from: Self.own.description, to: Self.bob),
      Archived(id: "e", age: 1, from: Self.carol), Archived(id: "f", age: 1, type: .error),
    ]
    let (first, _) = read(archive)
    let (past, news) = first.sorted([Self.bob: "c", Self.carol: "b"])
    #expect(texts(past) == ["a", "b", "c", "d"] && texts(news) == ["e", "f"])
    let all = first.sorted([Self.bob: "c", Self.carol: "e"])
    #expect(texts(all.past) == ["a", "b", "c", "d", "e", "f"] && all.news.isEmpty)
  }

  @Test("The archive is read back to the displayed markers, and an old message is new only after its marker.")
  func oldMarkers() {
    let archive = [
      Archived(id: "a", age: 29), Archived(id: "b", age: 25, from: Self.carol), Archived(id: "c", age: 20),
      Archived(id: "d", age: 15), Archived(id: "e", age: 1, from: Self.carol),
    ]
    let (first, pages) = read(archive, pageSize: 1, [Self.bob: "c"])
    #expect(pages == 3 && first.start == "e")
    #expect(texts(first.sorted([Self.bob: "c"]).news) == ["d", "e"])
    // A marker that is not found lies before all that was read.
    let far = read(archive + [Archived(id: "f", age: 0)], [Self.bob: "unknown"]).first
    #expect(texts(far.sorted([Self.bob: "unknown"]).news) == ["a", "c", "d", "e", "f"])
  }

  @Test("The first catch-up is limited to a number of days and a number of messages.")
  func bounds() {
    let old = (0..<10).map { Archived(id: "\($0)", age: 40 - Double($0)) }
    #expect(read(old, pageSize: 1, [Self.bob: "unknown"]).pages == 1)
    let many = (0..<4000).map { Archived(id: "\($0)", age: 1) }
    let (first, pages) = read(many)
    #expect(pages == FirstCatchUp.maximumMessages / 250)
    let news = texts(first.sorted([:]).news)
    #expect(news == many.suffix(FirstCatchUp.maximumMessages).map(\.id))
  }

  @Test("An empty archive is read once, and a page that is repeated ends the catch-up.")
  func odd() {
    let (first, pages) = read([])
    #expect(pages == 1 && first.position == "" && first.start == nil && first.sorted([:]).news.isEmpty)
    var same = FirstCatchUp(own: Self.own, now: Self.now)
    var count = 0
    while var page = same.next([:]) {
      count += 1
      let result = page.collect(Archived(id: "x", age: 1).result(page.id), own: Self.own).result
      _ = page.ended(with: Self.answer("<first>x</first><last>x</last>", isLast: false))
      same.add(page, result.flatMap { IncomingMessage($0, own: Self.own) }.map { [$0] } ?? [])
    }
    #expect(count == 2 && texts(same.sorted([:]).news) == ["x"])
  }
}
