import AgentProtocol
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza

@testable import AgentStore

@Suite("Names of contacts and rooms on the command line")
struct KnownNamesTests {
  private static let names = KnownNames([
    .init(jid: "bob@c", name: "Bob"), .init(jid: "bob@d", name: "Robert"), .init(jid: "twin@c", name: "Twin"),
    .init(jid: "twin@d", name: "Twin"), .init(jid: "team@rooms.c", name: "The Team"),
    .init(jid: "silent@c", name: nil), .init(jid: "trap@c", name: "example.org"),
    .init(jid: "same@c", name: "Same"), .init(jid: "same@c", name: "Same"),
  ])

  @Test(
    "A word with an @ is a JID, any other word is an exact name, and otherwise a word with a dot is a domain.",
    arguments: [
      ("Bob", "bob@c"), ("The Team", "team@rooms.c"), ("Same", "same@c"), ("Bob@x", "Bob@x"),
      ("server.c", "server.c"), ("server.c/res", "server.c/res"), ("example.org", "trap@c"),
      ("xmpp:example.org", "example.org"), ("example.org.", "example.org"), ("localhost.", "localhost"),
      ("xmpp:localhost", "localhost"), ("xmpp:bob@c", "bob@c"), ("server.c/a@b", "server.c/a@b"),
    ])
  func meant(word: String, jid: String) throws {
    #expect(try Self.names.jid(word) == jid)
  }

  @Test(
    "A name that nobody has, or more than one has, is refused with similar names.",
    arguments: [
      ("bob", "nobody is called bob; similar names: Bob (bob@c), Robert (bob@d)"),
      ("Bobb", "nobody is called Bobb; similar names: Bob (bob@c), Robert (bob@d)"),
      ("silent", "nobody is called silent; similar names: silent@c"),
      ("Twin", "more than one contact or room is called Twin: twin@c, twin@d"),
      ("Rob", "nobody is called Rob; similar names: Robert (bob@d), Bob (bob@c)"),
      ("team", "nobody is called team; similar names: The Team (team@rooms.c)"),
      ("localhost", "nobody is called localhost"), ("", "nobody is called "),
      ("Dr. Who", "nobody is called Dr. Who"), (".", "nobody is called ."),
    ])
  func refused(word: String, detail: String) {
    let failure = #expect(throws: Failure.self) { try Self.names.jid(word) }
    #expect(failure?.name == .invalidParameter && failure?.detail?.description == detail)
  }

  @Test("Only a few of many similar names are suggested.")
  func many() {
    let names = KnownNames((1...100).map { .init(jid: "\($0)@c", name: "friend \($0)") })
    #expect {
      try names.jid("friend")
    } throws: { error in
      let detail = (error as? Failure)?.detail?.description ?? ""
      return detail.hasSuffix(", …") && detail.split(separator: "@").count == 6
    }
  }

  @Test("The names of contacts and bookmarked rooms are read from the local store of their own account.")
  func stored() async throws {
    let directory = try TemporaryDirectory()
    #expect(throws: Failure.self) { try KnownNames(of: "a@b", at: directory.paths.database).jid("Bob") }
    let store = try LocalStore(path: directory.paths.database)
    let item = Roster.Item(jid: try JID("bob@c"), name: "Bob", subscription: .both, groups: [])
    _ = try await store.change { database in
      try item.save("a@b", database)
      try database.execute(
        sql: "INSERT INTO bookmarks (account, jid, name, joins) VALUES ('a@b', 'room@c', 'Room', 0)")
      return true
    }
    let names = try KnownNames(of: "a@b", at: store.path)
    #expect(try names.jid("Bob") == "bob@c" && names.jid("Room") == "room@c")
    #expect(throws: Failure.self) { try KnownNames(of: "other@b", at: store.path).jid("Bob") }
  }
}
