import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("The time after a failed login", .serialized)
struct GivenUpLoginTests {
  /// What is stored would do: the failed login goes elsewhere, or has something else.
  private enum Cause: CaseIterable {
    case retries, timeout, automaticTimeout, tokenCommand
  }

  @Test(
    "An agent that was started for a login that failed does not log in by itself.",
    arguments: Cause.allCases)
  private func over(cause: Cause) async throws {
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await user.agentEnded()
    let server = try await ScriptedServer([.stall])
    let port = String(server.port)
    if cause == .retries || cause == .automaticTimeout { try await server.end() }
    let (options, status): ([String], Int32) =
      switch cause {
      case .retries: (["--auto", "--max-retries", "1", "--port", port], 75)
      case .timeout: (["--timeout", "1.5", "--port", port], 75)
      case .automaticTimeout: (["--auto", "--timeout", "1.5", "--port", port], 75)
      case .tokenCommand: (["--auth", "token", "--token-command", "true"], 64)
      }
    let login = try await user.imctl.run(["login", user.jid] + options)
    #expect(login.status == status, "\(login.errors)")
    if cause == .automaticTimeout {
      #expect(login.errors.contains("refuses the connection"), "\(login.errors)")
    }
    // It has nothing to do.
    try await user.agentEnded()
    #expect(try await user.imctl.run("status").status == 1)
    #expect(try user.stored().first?.isLogin == true)
    try await user.imctl.end()
  }

  @Test("The status of an account tells why its background login failed, with and without an agent.")
  func detached() async throws {
    let user = try await User()
    #expect(try await user.login("--detach", password: "mistyped").status == 0)
    try await eventually("the refusal") {
      try await user.session()?.cause?.name == .authFailed
    }
    try await eventually("the trace") { try user.stored().map(\.account) == [user.jid] }
    _ = try await user.imctl.run("agent", "stop")
    let status = try await user.status()
    #expect(status.state == .loginFailed && status.cause?.name == .authFailed)
    #expect(try user.stored().first?.password == nil && user.stored().first?.isLogin == false)
    try await user.imctl.end()
  }

  @Test("The JSON output of a login distinguishes the possible results.")
  func result() async throws {
    struct Line: Decodable { var result: String? }
    let user = try await User()
    let closed = try await ScriptedServer([])
    let port = String(closed.port)
    try await closed.end()
    let silent = try await ScriptedServer([.stall])
    let host = ["--host", TestServer.host]
    for (arguments, result) in [
      ([user.jid] + user.connection, "loginFailure"),
      (["alice@other.example"] + user.connection, "unknownDomain"),
      ([user.jid, "--port", port] + host, "connectionRefused"),
      ([user.jid, "--port", String(silent.port), "--timeout", "0.5"] + host, "netError"),
    ] {
      let login = try await user.imctl.run(
        ["login", "--password-stdin", "--json"] + arguments, input: "mistyped")
      let line = try JSONDecoder().decode(Line.self, from: Data(login.errors.utf8))
      #expect(line.result == result, "\(login.errors)")
    }
    let detached = try await user.login("--detach", "--json")
    #expect(try detached.objects(Line.self).last?.result == "logining", "\(detached.output)")
    try await eventually("the session") { try await user.session()?.state == .syncOK }
    let login = try await user.login("--json")
    #expect(try login.objects(Line.self).last?.result == "loginSuccess")
    try await user.imctl.end()
  }
}
