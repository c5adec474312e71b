import FoundationEssentials
import Testing

@testable import AgentStore

@Suite struct DesiredPresenceTests {
  @Test("The fields of a desired presence form one flat object, as in every earlier version.")
  func fields() throws {
    let before = Availability(show: .chat, priority: 3)
    let presence = DesiredPresence(
      Availability(show: .away, status: "lunch", priority: -1), until: "2026-11-21T02:42:13.123Z",
      before: before)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(presence), as: UTF8.self)
    #expect(
      text == #"{"before":{"priority":3,"show":"chat"},"priority":-1,"show":"away","status":"lunch","#
        + #""until":"2026-11-21T02:42:13.123Z"}"#)
    #expect(try JSONDecoder().decode(DesiredPresence.self, from: Data(text.utf8)) == presence)
  }
}
