import AgentStore
import Testing
import XMPPFeatures
import XMPPStanza

@testable import AgentSession

@Suite("Changes of contacts that are under way")
struct PendingContactChangesTests {
  private let bob: JID
  private let carol: JID

  init() throws {
    bob = try JID("bob@im.example")
    carol = try JID("carol@im.example")
  }

  @Test("A change counts as this device's own as long as a command is making it.")
  func own() {
    let changes = PendingContactChanges()
    changes.begin(bob)
    changes.begin(bob)
    changes.end(bob)
    #expect(changes.contains(bob) && !changes.contains(carol))
    #expect(changes.contains(.block([carol, bob])) && !changes.contains(.unblock([carol])))
    #expect(!changes.contains(.unblockAll))
    changes.end(bob)
    #expect(!changes.contains(bob))
    changes.begin(nil)
    changes.begin(nil)
    changes.end(nil)
    #expect(changes.contains(.unblockAll))
    changes.end(nil)
    #expect(!changes.contains(.unblockAll))
  }

  @Test(
    "A waiter for a contact continues when the contact is stored as wanted, or when all waits are ended.")
  func waits() async {
    let changes = PendingContactChanges()
    let removed = changes.add(bob) { $0 == nil }
    let listed = changes.add(carol) { $0 != nil }
    changes.stored(carol, nil)
    changes.stored(bob, nil)
    // Not over, this would wait for ever.
    await removed.wait(seconds: 0)
    changes.remove(removed)
    changes.endWaits()
    await listed.wait(seconds: 0)
  }
}
