import AgentProtocol
import TestSupport
import Testing

@testable import Agent

@Suite("What arrives", .timeLimit(.minutes(4))) struct ArrivalTests {
  private static let bob = "bob@\(TestServer.domain)/x"

  private static func message(_ body: String, _ children: String = "") -> String {
    "<message from='\(bob)' to='\(SessionDesk.jid)' type='chat'><body>\(body)</body>\(children)</message>"
  }

  /// What was told of messages and presences, in the order of the cursors.
  private func told(_ desk: SessionDesk) -> [String] {
    desk.events.compactMap { event in
      switch event.body {
      case .message(let message): message.body
      case .presence(let presence): presence.show.rawValue
      default: nil
      }
    }
  }

  @Test("is told in the order in which it came, presences among messages.")
  func order() async throws {
    let presence = { (show: String) in "<presence from='\(Self.bob)'><show>\(show)</show></presence>" }
    let desk = try await SessionDesk([
      .session(then: [
        .server(
          Self.message("one") + presence("dnd") + Self.message("two") + presence("xa") + presence("chat")
            + Self.message("three") + presence("away"))
      ])
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the last of them") { told(desk).contains("away") }
    #expect(told(desk) == ["one", "dnd", "two", "xa", "chat", "three", "away"])
    await desk.session.close()
  }
}
