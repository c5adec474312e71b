import Testing
import XMPPStanza

@testable import XMPP

@Suite("The events of a stream that wait for their consumer") struct StreamInboxTests {
  private func message(_ body: String) -> StreamEvent {
    var message = Message(type: .chat)
    message.body = body
    return .message(message)
  }

  private func request(_ id: String) -> StreamEvent { .request(IQ(type: .set, id: id)) }

  /// Takes the first event, and those that may be taken together with it: bodies and ids.
  private func takeTogether(_ inbox: inout StreamInbox) -> [String] {
    guard let first = inbox.popFirst() else { return [] }
    var events = [first]
    while let event = inbox.popFirst(like: first) { events.append(event) }
    return events.map { event in
      switch event {
      case .message(let message): message.body ?? ""
      case .request(let request): request.id ?? ""
      default: "other"
      }
    }
  }

  @Test(
    "Messages that follow one another are taken together, and so are requests; their order among the others stays."
  )
  func together() {
    var inbox = StreamInbox()
    let events = [
      message("a"), message("b"), .marked("m"), .marked("n"), request("1"), request("2"), message("c"),
      request("3"),
    ]
    for event in events { inbox.put(event) }
    var taken: [[String]] = []
    while inbox.count > 0 { taken.append(takeTogether(&inbox)) }
    #expect(taken == [["a", "b"], ["other"], ["other"], ["1", "2"], ["c"], ["3"]])
  }
}
