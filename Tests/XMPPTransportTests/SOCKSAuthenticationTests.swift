import Testing

@testable import XMPPTransport

@Suite struct SOCKSAuthenticationTests {
  private typealias Action = SOCKSAuthentication.Action

  /// What comes of `bytes`, whole or byte by byte.
  private func actions(_ bytes: [UInt8], _ authentication: inout SOCKSAuthentication) throws -> [Action] {
    try bytes.map { try authentication.received([$0]) }.filter { $0 != .wait }
  }

  @Test("The user and the password are sent on request, and the SOCKS client continues as if without them.")
  func asked() throws {
    var authentication = try SOCKSAuthentication(user: "alice", password: "sesam")
    #expect(
      try actions([5, 2], &authentication)
        == [.send([1, 5] + Array("alice".utf8) + [5] + Array("sesam".utf8))])
    #expect(try actions([1, 0], &authentication) == [.forward([5, 0])])
    #expect(try actions([5, 0, 0], &authentication) == [.forward([5]), .forward([0]), .forward([0])])
  }

  @Test("The user and the password are not sent to a proxy that does not ask for them.")
  func notAsked() throws {
    var authentication = try SOCKSAuthentication(user: "alice", password: "sesam")
    #expect(try authentication.received([5, 0]) == .forward([5, 0]))
  }

  @Test("Bytes that follow the proxy's answer are passed on.")
  func behind() throws {
    var authentication = try SOCKSAuthentication(user: "alice", password: "")
    #expect(try authentication.received([5, 2]) == .send([1, 5] + Array("alice".utf8) + [0]))
    #expect(try authentication.received([1, 0, 5, 0]) == .forward([5, 0, 5, 0]))
  }

  @Test(
    "A refusal is reported as a refusal, and an invalid answer as garbage.",
    arguments: [
      ([[5, 0xFF]], .noMethod(offered: 2)), ([[5, 1]], .noMethod(offered: 2)),
      ([[5, 2], [1, 1]], .wrongPassword),
      ([[5, 2], [1, 0xFF]], .wrongPassword), ([[4, 0]], .garbage), ([Array("HT".utf8)], .garbage),
      ([[5, 2], [5, 0]], .garbage), ([[5, 2, 1, 0]], .garbage),
    ] as [([[UInt8]], TunnelError)])
  func refused(flights: [[UInt8]], error: TunnelError) throws {
    var authentication = try SOCKSAuthentication(user: "alice", password: "sesam")
    for flight in flights.dropLast() { _ = try authentication.received(flight) }
    #expect(throws: error) { try authentication.received(flights.last ?? []) }
  }

  @Test("A user name or password that is too long for the request is refused before anything is sent.")
  func tooLong() {
    let long = String(repeating: "a", count: 256)
    #expect(throws: TransportError.self) { try SOCKSAuthentication(user: "alice", password: long) }
    #expect(throws: TransportError.self) { try SOCKSAuthentication(user: long, password: "sesam") }
  }
}
