import Glibc
import TestSupport
import Testing
import XMPPTransport

@testable import XMPP

@Suite("The race between the targets of a domain")
struct TargetRaceTests {
  private static let targets = (1...3).map { ServerTarget(host: "host\($0)", port: 5222, tls: .startTLS) }

  private func start(_ number: Int) -> TargetRace.Action { .start(number, Self.targets[number]) }

  private let refused = XMPPError(.connectionRefused, stage: .connect, "refused")
  private let untrusted = XMPPError(.tlsFailure, stage: .tls, "untrusted")
  private let silent = XMPPError(.connectTimeout, stage: .tls, "silent")

  @Test("Each target is tried after a delay, and at once if the target before it cannot be reached.")
  func order() {
    var race = TargetRace(Self.targets, elsewhere: 0)
    #expect(race.due() == start(0))
    #expect(race.delay(after: 0) == TargetRace.stagger && race.delay(after: 2) == nil)
    #expect(race.failed(0, refused, isSilent: false) == start(1))
    #expect(race.due() == start(2))
    #expect(race.due() == .wait)
    #expect(race.failed(2, silent, isSilent: true) == .wait)
    #expect(race.failed(2, silent, isSilent: true) == .wait)
    #expect(race.failed(1, refused, isSilent: false) == .fail(refused))
  }

  @Test(
    "No further target is tried after one was reached and has failed, but attempts that are under way continue."
  )
  func decided() {
    var race = TargetRace(Self.targets, elsewhere: 0)
    _ = race.due()
    _ = race.due()
    #expect(race.failed(1, untrusted, isSilent: false) == .wait)
    #expect(race.due() == .wait)
    #expect(race.failed(0, refused, isSilent: false) == .fail(untrusted))
  }

  @Test(
    "A target that is silent for too long gives way to the next, but a single target may use all of the time."
  )
  func patience() {
    var race = TargetRace(Self.targets, elsewhere: 1)
    #expect(
      race.limit == TargetRace.patience
        && TargetRace(Array(Self.targets.prefix(1)), elsewhere: 0).limit == nil)
    #expect(race.delay(after: 0) == TargetRace.staggerElsewhere && race.delay(after: 1) == TargetRace.stagger)
    _ = race.due()
    #expect(race.failed(0, silent, isSilent: true) == start(1))
  }

  // MARK: With connections

  private struct FixedResolver: ServiceResolver {
    var targets: [ServerTarget]

    func targets(for domain: String) async throws(TransportError) -> [ServerTarget] { targets }
  }

  private func target(_ port: Int, _ tls: TLSMode) -> ServerTarget {
    ServerTarget(host: TestServer.host, port: port, tls: tls)
  }

  private func login(_ targets: [ServerTarget]) async throws -> Login {
    try await Login(port: 1).with {
      $0.host = nil
      $0.port = nil
      $0.tls = nil
      $0.resolver = FixedResolver(targets: targets)
    }
  }

  @Test("The next target is tried although earlier ones accept the connection and stay silent.")
  func silentTargets() async throws {
    let ports = try (0..<2).map { _ in try SilentPort() }
    let server = try await ScriptedServer(.login(until: .bound))
    let stream = try await login(
      ports.map { target($0.port, .direct) } + [target(server.port, .startTLS)]
    ).online()
    let bound = await stream.first { if case .step(.loginOK(let bound)) = $0 { bound } else { nil } }
    #expect(bound?.target == target(server.port, .startTLS))
    await stream.close(patience: .milliseconds(10))
    try await server.end()
    for port in ports { port.close() }
  }

  @Test(
    "Only the first target that completes TLS learns the account name, and the other connections are closed.")
  func first() async throws {
    // It reads, and never answers.
    let slow = try await ScriptedServer([.header, .client("<starttls/>"), .stall])
    let server = try await ScriptedServer(.login(until: .bound))
    let login = try await login([target(slow.port, .startTLS), target(server.port, .startTLS)])
    let stream = try await login.online()
    #expect(server.received.contains("<auth"))
    #expect(!slow.received.contains("<auth") && !slow.received.contains("alice"))
    await stream.close(patience: .milliseconds(10))
    #expect(slow.connections == 1 && server.connections == 1)
    try await slow.end()
    try await server.end()
  }

  @Test("A cancelled login leaves no connection open.")
  func givenUp() async throws {
    let slow = try await ScriptedServer([.header])
    let port = try SilentPort()
    let stream = XMPPStream(
      try await login([target(slow.port, .startTLS), target(port.port, .direct)]).configuration)
    let connecting = Task { try await stream.connect() }
    _ = await stream.first {
      if case .step(.linking(let target)) = $0, target.port == port.port { true } else { nil }
    }
    connecting.cancel()
    #expect((await connecting.result.failure as? XMPPError)?.code == .cancelled)
    try await slow.closedByClient()
    #expect(await stream.contenders == 0)
    try await slow.end()
    port.close()
  }

  @Test("The host that a user names may be an IPv6 address in brackets.", arguments: ["[::1]", "::1"])
  func brackets(_ host: String) async throws {
    let configuration = try await Login(port: 5222).with { $0.host = host }.configuration
    #expect(try await configuration.targets() == [ServerTarget(host: "::1", port: 5222, tls: .startTLS)])
  }
}

extension XMPPStream {
  fileprivate var contenders: Int { establishment.race?.contenders.count ?? 0 }
}

/// A port on loopback at which connections are made, and nobody is.
private struct SilentPort {
  private let socket: CInt
  let port: Int

  init() throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let size = length
    let socket = socket
    let isBound = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, size) == 0 && listen(socket, 16) == 0
          && getsockname(socket, address, &length) == 0
      }
    }
    guard isBound else { throw TestSupportError("no port") }
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  func close() { _ = Glibc.close(socket) }
}
