import AgentProtocol

extension LoginMethod.Parameters {
  /// The login of an account of a private server.
  public init(_ account: String = "alice", on server: TestServer) {
    self.init(account: server.jid(account))
    password = server.password(account)
    options.host = TestServer.host
    options.port = server.port
    options.caFile = server.caFile
  }

  /// The login of alice at a port on loopback, with the password that every server of the tests gives her.
  public init(port: Int) async throws {
    self.init(account: "alice@\(TestServer.domain)")
    password = "alice-secret"
    options.host = TestServer.host
    options.port = port
    options.caFile = try await TestAuthority.shared.caFile
  }
}
