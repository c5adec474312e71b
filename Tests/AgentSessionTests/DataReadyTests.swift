import AgentProtocol
import TestSupport
import Testing

@testable import AgentSession

@Suite("The event dataReady", .timeLimit(.minutes(6)))
struct DataReadyTests {
  private func codes(_ desk: SessionDesk) -> [Int] {
    desk.events.compactMap { if case .dataReady(let code) = $0.body { code } else { nil } }
  }

  @Test("The event dataReady is published once between a login and the next logout, before any other event.")
  func once() async throws {
    let desk = try await SessionDesk([.session(then: [.reset]), .session()])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 2 }
    _ = try await desk.session.login(try await desk.parameters())
    #expect(codes(desk) == [0])
    guard case .dataReady = desk.events.first?.body else { throw CancellationError() }
    var logout = LogoutMethod.Parameters(account: nil)
    logout.force = true
    _ = try await desk.session.logout(logout)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("another session") { changes in changes.count { $0.state == .syncOK } == 3 }
    #expect(codes(desk) == [0, 0])
    await desk.session.close()
  }

  @Test("The event dataReady reports that a damaged store was replaced by a new one.")
  func damaged() async throws {
    let home = try TemporaryDirectory()
    try PrivateDirectory.ensure(home.path + "/messages")
    write(String(repeating: "no database ", count: 500), to: home.path + "/messages/imctl.sqlite")
    let desk = try await SessionDesk([.session()], home: home)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the session") { $0.last?.state == .syncOK }
    #expect(codes(desk) == [33_002])
    await desk.session.close()
  }
}
