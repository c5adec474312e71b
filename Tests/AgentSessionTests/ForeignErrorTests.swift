import AgentProtocol
import TestSupport
import Testing

@testable import AgentSession

@Suite("Errors that carry the id of a sent message", .timeLimit(.minutes(4)))
struct ForeignErrorTests {
  private static let domain = TestServer.domain

  /// It carries the id of a message to `bob`.
  private static func error(from sender: String) -> String {
    "<message type='error' id='m1' from='\(sender)'><error type='cancel'>"
      + "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
  }

  private static let receipt =
    "<message from='bob@\(domain)/desk'><received xmlns='urn:xmpp:receipts' id='m1'/></message>"

  private func send(then answer: String) async throws -> (MessageSendMethod.Outcome, [Event], [String: Int]?)
  {
    let desk = try await SessionDesk([
      .session(then: [.client("<message id='m1'/>"), .server(answer)])
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    var message = OutgoingMessage(to: "bob@\(Self.domain)", body: "hello")
    message.id = "m1"
    var sending = MessageSendMethod.Parameters(account: nil, messages: [message])
    sending.wait = .delivered
    sending.timeout = 60
    let outcome = try #require(try await desk.session.send(sending).outcome().first)
    let refused = await desk.session.currentStatus().refused
    await desk.session.close()
    await desk.caughtUp()
    return (outcome, desk.events, refused)
  }

  @Test(
    "An error from a stranger does not end the wait for a receipt, and is counted as refused.",
    arguments: [
      "mallory@\(domain)", "mallory@\(domain)/desk", "mallory@evil.example", "evil.example", "\(domain)/x",
      "bob@evil.example", "bob@\(domain).example",
    ])
  func foreign(sender: String) async throws {
    let (outcome, events, refused) = try await send(then: Self.error(from: sender) + Self.receipt)
    #expect(outcome.state == .delivered && outcome.error == nil)
    #expect(refused == ["receipt": 1])
    let receipts = events.compactMap { event in
      if case .receipt(let receipt) = event.body { receipt.kind } else { nil }
    }
    #expect(!receipts.contains(.failed))
  }

  @Test(
    "An error from the recipient or from the account's own server ends the wait for a receipt.",
    arguments: ["bob@\(domain)", "bob@\(domain)/desk", domain])
  func own(sender: String) async throws {
    let (outcome, _, refused) = try await send(then: Self.error(from: sender))
    #expect(outcome.state == .sent && outcome.error?.condition == "service-unavailable")
    #expect(refused == nil)
  }
}
