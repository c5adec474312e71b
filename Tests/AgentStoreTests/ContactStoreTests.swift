import AgentProtocol
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentStore

@Suite struct ContactStoreTests {
  private let directory: TemporaryDirectory
  private let store: LocalStore
  private let account = "a@b"

  init() throws {
    directory = try TemporaryDirectory()
    store = try LocalStore(path: directory.paths.database)
  }

  private func item(_ jid: String, _ name: String? = nil, groups: [String] = []) throws -> Roster.Item {
    Roster.Item(jid: try JID(jid), name: name, subscription: .both, groups: groups)
  }

  private func list(after jid: String? = nil) throws -> [Contact] {
    try StoredContacts.list(account, after: jid, at: store.path).contacts
  }

  @Test("The first roster causes no events, and a later roster causes one for each change.")
  func replaced() async throws {
    let account = account
    let first = Roster(
      items: [try item("c@d", "C", groups: ["x", "y"]), try item("e@f"), try item("c@d", "twice")],
      version: "5")
    let told = try await store.change { try StoredRoster.replace(with: first, of: account, $0) }
    #expect(told == [])
    #expect(try list().map(\.name) == ["C", nil])
    #expect(try list().map(\.groups) == [["x", "y"], []])
    #expect(try await store.read { try StoredRoster.version(of: account, $0) } == "5")
    let second = Roster(items: [try item("c@d", "C2", groups: ["y", "x"]), try item("g@h")], version: nil)
    let changed = try await store.change { try StoredRoster.replace(with: second, of: account, $0) }
    #expect(
      Set(changed.map { "\($0.action) \($0.jid)" }) == [
        "update c@d", "add g@h", "accept g@h", "subscribed g@h", "remove e@f",
      ])
    #expect(try await store.read { try StoredRoster.version(of: account, $0) } == "")
    #expect(try await store.read { try StoredRoster.jids(of: account, $0) } == ["c@d", "g@h"])
    // Another account has its own, and none.
    #expect(try await store.read { try StoredRoster.version(of: "other@b", $0) } == nil)
    #expect(try StoredContacts.list("other@b", after: nil, at: store.path).contacts == [])
    try await store.forget(account)
    #expect(try list() == [])
    #expect(try await store.read { try StoredRoster.version(of: account, $0) } == nil)
  }

  @Test("Known contacts can still be changed and removed when the contact list is full.")
  func noRoom() async throws {
    let account = account
    func push(_ attributes: KeyValuePairs<String, String?>, hasRoom: Bool) async throws -> Bool {
      let item = XMLElement("item", namespace: Namespaces.roster, attributes: attributes)
      let query = XMLElement("query", namespace: Namespaces.roster, children: [item])
      let push = try #require(try Roster.Push(IQ(type: .set, payload: [query]), own: JID("a@b/c")))
      return try await store.change { try push.save(account, hasRoom: hasRoom, $0) != nil }
    }
    #expect(try await push(["jid": "c@d", "name": "C"], hasRoom: true))
    #expect(try await !push(["jid": "e@f"], hasRoom: false))
    #expect(try await push(["jid": "c@d", "name": "C2"], hasRoom: false))
    #expect(try list().map(\.name) == ["C2"])
    #expect(try await push(["jid": "c@d", "subscription": "remove"], hasRoom: false))
    #expect(try list() == [])
  }

  @Test(
    "A long contact list is delivered in parts without gaps, and marks contacts that are blocked, even by domain."
  )
  func parts() async throws {
    let account = account
    let count = 2 * ContactsListMethod.maximumContacts + 1
    let roster = Roster(
      items: try (0..<count).map { try item("u\($0)@\($0 % 2 == 0 ? "even" : "odd").example") })
    _ = try await store.change { try StoredRoster.replace(with: roster, of: account, $0) }
    let blocked = BlockList([try JID("even.example"), try JID("u1@odd.example")])
    _ = try await store.change { try StoredBlockList.replace(with: blocked, of: account, $0) }
    var all: [Contact] = []
    var isLast = false
    while !isLast {
      let part = try StoredContacts.list(account, after: all.last?.jid, at: store.path)
      #expect(part.stale && part.contacts.count <= ContactsListMethod.maximumContacts)
      all += part.contacts
      isLast = !part.more
    }
    #expect(all.map(\.jid) == roster.items.map(\.jid.description).sorted())
    #expect(all.count(where: \.blocked) == count / 2 + 2)
  }

  @Test("A push of the block list causes one event for each contact that it changes.")
  func blocking() async throws {
    let account = account
    func apply(_ push: BlockList.Push, isOwn: Bool = false) async throws -> [String] {
      try await store.change { try StoredBlockList.apply(push, of: account, isOwn: isOwn, $0) }
        .map { "\($0.action) \($0.jid) \($0.by?.rawValue ?? "?")" }
    }
    let c = try JID("c@d")
    let e = try JID("e.example")
    #expect(try await apply(.block([c, e]), isOwn: true) == ["ban c@d self", "ban e.example self"])
    #expect(try await apply(.block([c, e])) == [])
    #expect(try await apply(.unblock([c])) == ["allow c@d other-device"])
    #expect(try await apply(.unblock([c])) == [])
    #expect(try await apply(.unblockAll) == ["allow e.example other-device"])
    #expect(try StoredContacts.blocked(account, at: store.path).blocked == [])
  }

  @Test("A subscription request is stored once, unless the contact is subscribed already, and up to a limit.")
  func requests() async throws {
    let account = account
    let seen = Roster(items: [try item("seen@d")])
    _ = try await store.change { try StoredRoster.replace(with: seen, of: account, $0) }
    func add(_ jid: String, _ text: String? = nil, at time: Double = 0) async throws -> Bool {
      let request = PresenceSubscription.Request(jid: try JID(jid), text: text)
      return try await store.change { try StoredRequests.add(request, of: account, received: time, $0) }
    }
    let added = try await [
      add("c@d", at: 2), add("c@d", "hi", at: 5), add("c@d", at: 6), add("seen@d"), add("b@d", at: 3),
    ]
    #expect(added == [true, false, false, false, true])
    let listed = try StoredContacts.requests(account, at: store.path).requests
    #expect(listed.map(\.jid) == ["c@d", "b@d"] && listed.map(\.text) == ["hi", nil])
    #expect(listed.first?.received == "1970-01-01T00:00:02.000Z")
    for number in 0..<StoredRequests.maximum { _ = try await add("u\(number)@x") }
    #expect(try StoredContacts.requests(account, at: store.path).requests.count == StoredRequests.maximum)
    let gone = try await store.change { try StoredRequests.removeAll(except: ["c@d"], of: account, $0) }
    #expect(gone.count == StoredRequests.maximum - 1)
    #expect(try StoredContacts.requests(account, at: store.path).requests.map(\.jid) == ["c@d"])
  }

  @Test(
    "Contact events are stored with their cursors and replayed, and a gap is reported if old ones are dropped."
  )
  func events() async throws {
    let account = account
    func keep(_ range: Range<Int64>) async throws {
      _ = try await store.change { database in
        try ContactEvent.save(
          range.map { ContactEvent(.add, jid: "u\($0)@x", by: .otherDevice, text: nil) }, of: account,
          under: range, time: 1, database)
      }
    }
    try await keep(1..<4)
    let again = try await store.replay(after: 1, until: 3, account: account).events
    #expect(again.map(\.cursor) == [2, 3])
    #expect(again.first?.body == .contact(ContactEvent(.add, jid: "u2@x", by: .otherDevice)))
    #expect(again.first?.time == "1970-01-01T00:00:01.000Z")
    #expect(try await store.replay(after: 1, until: 3, account: account, names: ["message"]).events == [])
    let whole = try await store.replayStart(since: 0, until: 3, account: account)
    #expect(whole.isWhole)
    try await keep(10..<Int64(10 + ContactEvent.maximumKept))
    let cut = try await store.replayStart(since: 0, until: 100_000, account: account)
    #expect(!cut.isWhole)
    let messages = try await store.replayStart(since: 0, until: 100_000, account: account, names: ["message"])
    #expect(messages.isWhole)
    let late = try await store.replayStart(since: 5, until: 100_000, account: account)
    #expect(late.isWhole)
  }
}
