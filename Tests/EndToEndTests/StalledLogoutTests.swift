import TestSupport
import Testing

@Suite("Logouts at a silent server", .timeLimit(.minutes(4)))
struct StalledLogoutTests {
  @Test(
    "A logout ends within its own time limit, with exit status 0, if the server does not answer.",
    arguments: [["--timeout", "3"], ["--timeout", "3", "--all"]])
  func stalled(options: [String]) async throws {
    let server = try await ScriptedServer(.login(until: .bound) + .synced + [.stall])
    let imctl = try await IMCTL()
    let login = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(login.status == 0, "\(login)")
    let logout = try await imctl.run(["logout"] + options)
    #expect(logout.status == 0, "\(logout)")
    #expect(logout.output == "alice@\(TestServer.domain) offline\n")
    try await imctl.end()
    try await server.end()
  }
}
