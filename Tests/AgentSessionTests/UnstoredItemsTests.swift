import AgentProtocol
import Testing
import XMPP
import XMPPClient
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import AgentSession

@Suite struct UnstoredItemsTests {
  private let one: BoundSession
  private let two: BoundSession

  init() throws {
    let configuration = StreamConfiguration(
      account: try JID("a@b"), credentials: SASLCredentials(authcid: "a", password: Secret("b")))
    let bound = BoundStream(
      jid: configuration.account, target: ServerTarget(host: "b", port: 5222, tls: .startTLS),
      mechanism: .scramSHA256, features: StreamFeatures(XMLElement("features", namespace: Namespaces.streams))
    )
    one = BoundSession(XMPPStream(configuration), bound)
    two = BoundSession(XMPPStream(configuration), bound)
  }

  private func message(_ body: String) -> UnstoredItems.Item { .arrived(Message(body: body)) }

  private func long(_ name: String, _ octets: Int) -> UnstoredItems.Item {
    message(name + String(repeating: "x", count: octets))
  }

  /// The first letters of the bodies, and the numbers.
  private func names(_ items: [UnstoredItems.Item]) -> [String] {
    items.map { item in
      switch item {
      case .arrived(let message): String(message.body?.prefix(1) ?? "")
      case .handled(let number): "\(number)"
      case .ended: "end"
      case .acknowledged(let id): id
      case .shown(let change): change.show.rawValue
      case .sent, .streamChanged: "?"
      }
    }
  }

  private func items(_ items: [UnstoredItems.Item]) -> UnstoredItems {
    items.reduce(into: UnstoredItems()) { $0.append($1, of: one) }
  }

  @Test("A presence waits for the messages before it that are not counted yet, and for no others.")
  func presences() {
    let away = UnstoredItems.Item.shown(
      PresenceChange(from: "b@c", show: .away, status: nil, priority: 0))
    var waiting = items([message("a"), .handled(1), message("b"), away])
    #expect(names(waiting.removeNext(of: one, isCounted: true)) == ["a", "1"])
    waiting.append(.handled(2), of: one)
    #expect(names(waiting.removeNext(of: one, isCounted: true)) == ["b", "away", "2"])
    var numbered = items([message("a"), .handled(1), away])
    #expect(names(numbered.removeNext(of: one, isCounted: true)) == ["a", "1", "away"])
    #expect(numbered.count == 0)
  }

  @Test("Messages wait until they are counted, and other items do not wait for them.")
  func numbers() {
    var items = items([message("a"), .handled(1), message("b"), .acknowledged("id")])
    #expect(names(items.removeNext(of: one, isCounted: true)) == ["a", "1", "id"])
    #expect(names(items.removeNext(of: one, isCounted: true)) == [])
    items.append(.handled(2), of: one)
    #expect(names(items.removeNext(of: one, isCounted: true)) == ["b", "2"])
    #expect(items.count == 0)
  }

  @Test("Messages of a stream that does not count stanzas do not wait.")
  func uncounted() {
    var items = items([message("a"), message("b")])
    #expect(names(items.removeNext(of: one, isCounted: false)) == ["a", "b"])
  }

  @Test(
    "A batch of long messages ends at the first count after its size limit, and the rest follows in order.")
  func batches() {
    let half = UnstoredItems.octetsEach / 2
    var items = items([
      long("a", half), .handled(1), long("b", half), long("c", half), .handled(3), message("d"), .handled(4),
      long("e", 2 * half), .handled(5), .ended,
    ])
    #expect(names(items.removeNext(of: one, isCounted: true)) == ["a", "1", "b", "c", "3"])
    #expect(names(items.removeNext(of: one, isCounted: true)) == ["d", "4", "e", "5"])
    #expect(names(items.removeNext(of: one, isCounted: true)) == ["end"])
    var uncounted = self.items([long("a", half), long("b", half), message("c")])
    #expect(names(uncounted.removeNext(of: one, isCounted: false)) == ["a", "b"])
    #expect(names(uncounted.removeNext(of: one, isCounted: false)) == ["c"])
  }

  @Test("A batch that exceeds its limit does not wait for a count.")
  func excess() {
    var many = items((0..<UnstoredItems.maximumItems).map { _ in message("a") })
    #expect(!many.hasRoom)
    #expect(many.removeNext(of: one, isCounted: true).count == UnstoredItems.maximumItems)
    #expect(many.hasRoom)
    var long = items((0..<8).map { _ in self.long("a", UnstoredItems.maximumOctets / 8) })
    #expect(!long.hasRoom)
    #expect(long.removeNext(of: one, isCounted: true).count == 1)
    #expect(long.hasRoom)
    #expect(long.removeNext(of: one, isCounted: true).isEmpty)
  }

  @Test("Each stream has its own items, returned items come next, and repeated ones are dropped.")
  func streams() {
    var items = items([message("a"), .acknowledged("id")])
    items.append(message("b"), of: two)
    items.append(.ended, of: one)
    #expect(items.streams.map(ObjectIdentifier.init) == [one, two].map(ObjectIdentifier.init))
    #expect(items.endedStreams.map(ObjectIdentifier.init) == [ObjectIdentifier(one)])
    let taken = items.removeNext(of: one, isCounted: true)
    #expect(names(taken) == ["a", "id", "end"])
    items.append(message("c"), of: one)
    items.putBack(taken, of: one)
    #expect(items.forget(one) == 3)
    #expect(names(items.removeNext(of: one, isCounted: true)) == ["id"])
    #expect(names(items.removeNext(of: two, isCounted: false)) == ["b"])
  }
}
