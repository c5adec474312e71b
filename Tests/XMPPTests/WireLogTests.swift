import Synchronization
import TestSupport
import Testing
import XMPPSASL

@testable import XMPP

@Suite("The wire log", .timeLimit(.minutes(3)))
struct WireLogTests {
  @Test("shows every element of a login, and no secret.", arguments: ["PLAIN", "SCRAM-SHA-256"])
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
}

/// What a wire log was given.
final class WireLines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ direction: WireDirection, _ line: String) {
    lines.withLock { $0.append("\(direction == .sent ? "C" : "S"): \(line)") }
  }

  var all: [String] { lines.withLock { $0 } }
}
