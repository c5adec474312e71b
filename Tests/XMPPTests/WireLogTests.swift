import Synchronization
import TestSupport
import Testing
import XMPPSASL
import XMPPXML

@testable import XMPP

@Suite("The wire log", .timeLimit(.minutes(6)))
struct WireLogTests {
  @Test(
    "The wire log shows every element of a login without any secret.", arguments: ["PLAIN", "SCRAM-SHA-256"])
  func login(mechanism: String) async throws {
    let scram = ScriptedServer.Step.scram(.init())
    let plain: [ScriptedServer.Step] = [
      .client("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'/>"),
      .server("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>"),
    ]
    let bound: [ScriptedServer.Step] = .login(until: .bound)
    let after = bound.dropFirst([ScriptedServer.Step].login(until: .authenticated).count)
    let server = try await ScriptedServer(
      .login(until: .mechanisms, mechanisms: [mechanism]) + (mechanism == "PLAIN" ? plain : [scram]) + after)
    let lines = WireLines()
    let stream = try await Login(server).with { $0.wireLog = { lines.add($0, $1) } }.online()
    await stream.close(patience: .milliseconds(10))
    let log = lines.all.joined(separator: "\n")
    for seen in ["<starttls", "<proceed", "mechanism=", "[secret]", "<success", "<bind", "</stream:stream>"] {
      #expect(log.contains(seen))
    }
    // Every piece of SASL data that went over the wire.
    let sent = server.received.split(separator: ">").compactMap { $0.split(separator: "</").first }
      .filter { $0.utf8.count >= 16 && Base64.decode(String($0)) != nil }
    #expect(!sent.isEmpty)
    for data in sent { #expect(!log.contains(data)) }
    #expect(!log.contains(Login.password))
    try await server.end()
  }

  @Test(
    "The wire log hides everything that may be secret, wherever it appears.",
    arguments: [
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>hidden</auth>",
      "<of-tomorrow xmlns='urn:ietf:params:xml:ns:xmpp-sasl' of='hidden'><x>hidden</x></of-tomorrow>",
      "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><of-tomorrow>hidden</of-tomorrow></failure>",
      "<authenticate xmlns='urn:xmpp:sasl:2' mechanism='PLAIN'><initial-response>hidden</initial-response></authenticate>",
      "<success xmlns='urn:xmpp:sasl:2'><additional-data>hidden</additional-data></success>",
      "<challenge xmlns='urn:xmpp:sasl:2'>hidden</challenge>",
      "<response xmlns='urn:xmpp:sasl:2'>hidden</response>",
      "<success xmlns='urn:xmpp:sasl:2'><token xmlns='urn:xmpp:fast:0' expiry='2027-01-01T00:00:00Z' token='hidden'/></success>",
      "<iq type='set'><enable xmlns='urn:xmpp:push:0' token='hidden'/></iq>",
      "<authenticate xmlns='urn:xmpp:sasl:2'><user-agent id='hidden'/></authenticate>",
      "<authenticate xmlns='urn:xmpp:sasl:2'><login-ext xmlns='urn:imctl:login-ext:0'>hidden</login-ext></authenticate>",
      "<success xmlns='urn:xmpp:sasl:2'><token xmlns='urn:xmpp:fast:0' token='hidden'/></success>",
      "<iq type='set'><query xmlns='jabber:iq:register'><password>hidden</password></query></iq>",
      "<iq type='set'><x xmlns='jabber:x:data'><field type='text-private' var='x'><value>hidden</value></field></x></iq>",
      "<iq type='set'><x xmlns='jabber:x:data'><field var='muc#roomconfig_roomPassword'><value>hidden</value></field></x></iq>",
    ])
  func secrets(_ xml: String) throws {
    let line = try line(xml)
    #expect(!line.contains("hidden"), "\(line)")
    #expect(line.contains("[secret]"))
  }

  @Test(
    "The wire log shows everything that is not secret.",
    arguments: [
      "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><not-authorized/><text>shown</text></failure>",
      "<authentication xmlns='urn:xmpp:sasl:2'><mechanism>shown</mechanism></authentication>",
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='shown'>x</auth>",
      "<x xmlns='jabber:x:data'><field type='text-single' var='x'><value>shown</value></field></x>",
      "<x xmlns='jabber:x:data'><field type='text-private' var='shown'><value>x</value></field></x>",
      "<message><body>password shown</body></message>",
    ])
  func facts(_ xml: String) throws { #expect(try line(xml).contains("shown")) }

  private func line(_ xml: String) throws -> String {
    let events = try XMLStreamParser().parse(
      Array("<stream:stream xmlns='jabber:client' xmlns:stream='s' version='1.0'>\(xml)".utf8))
    guard case .element(let element)? = events.last else { throw TestSupportError("no element") }
    return WireLog.line(element)
  }
}

/// What a wire log was given.
final class WireLines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ direction: WireDirection, _ line: String) {
    lines.withLock { $0.append("\(direction == .sent ? "C" : "S"): \(line)") }
  }

  var all: [String] { lines.withLock { $0 } }
}
