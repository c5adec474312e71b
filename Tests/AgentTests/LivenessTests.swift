import AgentProtocol
import Logging
import TestSupport
import Testing
import XMPPStanza

@testable import Agent

@Suite struct LivenessTests {
  @Test("A server that does not answer any more is noticed, and come back to when it does.")
  func frozen() async throws {
    let server = try await TestServer(TestServer.Options(.prosody))
    let home = try TemporaryDirectory()
    let hub = EventHub(cursor: 0)
    let session = try Session(
      account: try JID(server.jid("alice")), hub: hub,
      accounts: AccountStore(directory: home.path + "/config"),
      localStore: LocalStore(path: home.paths.database), log: Logger(label: "test"), language: "en",
      keepAlive: .milliseconds(300))
    var parameters = LoginMethod.Parameters(account: server.jid("alice"))
    parameters.password = server.password("alice")
    parameters.options.host = TestServer.host
    parameters.options.port = server.port
    parameters.options.caFile = server.caFile
    _ = try await session.login(parameters)

    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    try await server.freeze()
    var cause: Failure?
    while cause == nil, let event = await events.next() {
      if case .state(let change) = event.body, change.state == .loseConnection { cause = change.cause }
    }
    #expect(cause?.name == .networkError)
    try await server.thaw()
    while let event = await events.next() {
      if case .state(let change) = event.body, change.state == .syncOK { break }
    }
    await session.close()
    try await server.end()
  }
}
