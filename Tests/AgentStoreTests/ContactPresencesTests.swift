import AgentProtocol
import Testing
import XMPPFeatures
import XMPPStanza

@testable import AgentStore

@Suite struct ContactPresencesTests {
  private var presences = ContactPresences()
  init() { presences.setContacts(["bob@im.example", "carol@im.example"]) }

  private func presence(
    _ from: String, _ type: Presence.Kind? = nil, show: Presence.Show? = nil, status: String? = nil,
    priority: Int8 = 0
  ) throws -> Presence {
    Presence(type: type, from: try JID(from), show: show, status: status, priority: priority)
  }

  @Test("The latest presence of each device is kept until the device goes offline.")
  mutating func devices() throws {
    presences.update(with: try presence("bob@im.example/desk", show: .away, status: "lunch", priority: 5))
    presences.update(with: try presence("bob@im.example/phone"))
    presences.update(with: try presence("bob@im.example/desk", show: .doNotDisturb))
    #expect(
      presences["bob@im.example"] == [
        ContactPresence(resource: "phone", show: .online, status: nil, priority: 0),
        ContactPresence(resource: "desk", show: .dnd, status: nil, priority: 0),
      ])
    presences.update(with: try presence("bob@im.example/phone", .unavailable))
    #expect(presences["bob@im.example"].map(\.resource) == ["desk"])
    presences.update(with: try presence("bob@im.example", .unavailable))
    #expect(presences["bob@im.example"] == [])
  }

  @Test("The number of contacts with presences is limited, however many a server pushes.")
  mutating func bound() {
    presences.setContacts((1..<Roster.maximumItems).map { "contact-\($0)@im.example" })
    presences.add("dan@im.example")
    presences.add("eve@x.example")
    #expect(presences.count == Roster.maximumItems)
  }

  @Test("A presence from a stranger, or of another type than available or unavailable, is not kept.")
  mutating func strangers() throws {
    presences.update(with: try presence("mallory@evil.example/x"))
    for type in [Presence.Kind.subscribe, .subscribed, .error, .probe] {
      presences.update(with: try presence("bob@im.example/x", type))
    }
    #expect(presences["mallory@evil.example"] == [] && presences["bob@im.example"] == [])
  }

  @Test("The number of devices of one contact, and the length of their status texts, is limited.")
  mutating func bounds() throws {
    let long = String(repeating: "x", count: 100_000)
    for number in 0..<1000 { presences.update(with: try presence("bob@im.example/\(number)", status: long)) }
    #expect(presences["bob@im.example"].count == ContactPresences.maximumResources)
    #expect(presences["bob@im.example"].allSatisfy { $0.status?.count == ContactPresences.maximumStatus })
    // A place is free again.
    presences.update(with: try presence("bob@im.example/0", .unavailable))
    presences.update(with: try presence("bob@im.example/new"))
    #expect(presences["bob@im.example"].last?.resource == "new")
  }

  @Test(
    "The presences of a removed contact are forgotten, and those of all contacts at the end of a session."
  )
  mutating func forgotten() throws {
    presences.update(with: try presence("bob@im.example/x"))
    presences.update(with: try presence("carol@im.example/x"))
    presences.remove("carol@im.example")
    presences.add("carol@im.example")
    #expect(presences["carol@im.example"] == [])
    presences.setContacts(["carol@im.example", "bob@im.example"])
    #expect(presences["bob@im.example"].count == 1)
    presences.clear()
    #expect(presences["bob@im.example"] == [] && presences.count == 2)
  }
}
