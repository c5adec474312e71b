import TestSupport
import Testing
import XMPPStanza

@testable import XMPP

@Suite("The inbox of a stream") struct StreamInboxTests {
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
    "Consecutive messages are taken together, as are consecutive requests, and all events keep their order.")
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

  @Test(
    "An inbox is full after a number of events or of octets, and accepts more when events have been taken.")
  func octets() {
    let long = StreamEvent.message(Message(body: String(repeating: "x", count: 1 << 18)))
    var inbox = StreamInbox()
    var count = 0
    while !inbox.isPaused {
      inbox.put(long)
      count += 1
    }
    #expect(count == 4)
    while inbox.isPaused { #expect(inbox.popFirst() != nil) }
    #expect(inbox.count == 0)
    while !inbox.isFull { inbox.put(long) }
    #expect(inbox.count == 128)
    #expect(inbox.popFirst() != nil && !inbox.isFull && inbox.isPaused)
  }

  @Test(
    "Acknowledgements keep their places in an inbox and use up no room, and the oldest of very many are dropped."
  )
  func acknowledgements() {
    let stanzas = { (ids: Range<Int>) in
      StreamEvent.acknowledged(ids.map { SentStanza(id: "\($0)", element: nil) })
    }
    let acknowledged = { (event: StreamEvent?) -> [String]? in
      guard case .acknowledged(let stanzas)? = event else { return nil }
      return stanzas.compactMap(\.id)
    }
    var inbox = StreamInbox()
    for number in 0..<1000 { inbox.put(stanzas(number..<number + 1)) }
    #expect(inbox.count == 0 && !inbox.isPaused)
    inbox.put(.marked("first"))
    inbox.put(stanzas(1000..<1001))
    #expect(acknowledged(inbox.popFirst()) == (0..<1000).map(String.init))
    guard case .marked("first")? = inbox.popFirst() else {
      Issue.record("the mark is gone")
      return
    }
    #expect(acknowledged(inbox.popFirst()) == ["1000"])
    #expect(inbox.popFirst() == nil && inbox.count == 0)

    inbox.put(stanzas(0..<10))
    inbox.put(.marked("second"))
    inbox.put(stanzas(10..<20 + StreamInbox.acknowledgementsKept))
    guard case .marked("second")? = inbox.popFirst() else {
      Issue.record("the mark is gone")
      return
    }
    let last = acknowledged(inbox.popFirst())
    #expect(last?.first == "20" && last?.count == StreamInbox.acknowledgementsKept)
    #expect(inbox.popFirst() == nil)
  }

  @Test(
    "An event that arrives while one consumer is cancelled does not cost the next consumer its event.")
  func cancelledConsumer() async throws {
    var inbox = StreamInbox()
    let first = inbox.nextTurn()
    let second = inbox.nextTurn()
    let one = await withCheckedContinuation { waiter in
      inbox.wait(waiter, first)
      inbox.put(.message(Message()))
    }
    let two = await withCheckedContinuation { waiter in
      inbox.wait(waiter, second)
      // The first one's cancellation comes late.
      inbox.stopWaiting(first)
      inbox.put(.closed(nil))
    }
    guard case .message = one, case .closed = two else { throw TestSupportError("an event is lost") }
    let none: StreamEvent? = await withCheckedContinuation { waiter in
      let third = inbox.nextTurn()
      inbox.wait(waiter, third)
      inbox.stopWaiting(third)
    }
    #expect(none == nil)
  }
}
