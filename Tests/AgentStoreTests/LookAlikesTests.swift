import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza

@testable import AgentStore

@Suite struct LookAlikesTests {
  @Test(
    "A JID that a person could mistake for a contact or the own account is recognised, and others are not."
  )
  func originals() async throws {
    let directory = try TemporaryDirectory()
    let store = try LocalStore(path: directory.paths.database)
    try await store.change { database in
      for jid in ["bob@im.example", "carol@im.example", "\u{430}nna@im.example"] {
        try database.execute(
          sql: """
            INSERT INTO contacts (account, jid, subscription, isAsked, isApproved, groups)
            VALUES ('alice@im.example', ?, 'both', 0, 0, '[]')
            """, arguments: [jid])
      }
    }
    let lookAlikes = try await store.read { try LookAlikes(of: "alice@im.example", $0) }
    func original(_ jid: String) throws -> String? { lookAlikes.original(of: try JID(jid)) }
    #expect(try original("b\u{43e}b@im.example/x") == "bob@im.example")
    #expect(try original("bob@im.ex\u{430}mple") == "bob@im.example")
    #expect(try original("\u{430}lice@im.example") == "alice@im.example")
    #expect(try original("anna@im.example") == "\u{430}nna@im.example")
    for other in [
      "bob@im.example", "\u{430}nna@im.example", "bobby@im.example", "bob@im2.example", "im.example",
    ] {
      #expect(try original(other) == nil, "\(other)")
    }
    let others = try await store.read { try LookAlikes(of: "dave@im.example", $0) }
    #expect(others.original(of: try JID("b\u{43e}b@im.example")) == nil)
  }
}
