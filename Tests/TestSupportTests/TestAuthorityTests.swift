import TestSupport
import Testing

@Suite("The test authority")
struct TestAuthorityTests {
  @Test(
    "The test authority issues certificates that OpenSSL accepts or refuses according to their kind.",
    arguments: TestAuthority.Kind.allCases)
  func verdicts(kind: TestAuthority.Kind) async throws {
    let authority = try await TestAuthority.shared
    var options = ScriptedServer.Options()
    options.certificate = try await authority.certificate(kind)
    let server = try await ScriptedServer(.login(until: .secured), options: options)
    let client = try await ChildProcess(
      "/usr/bin/openssl",
      [
        "s_client", "-connect", "127.0.0.1:\(server.port)", "-starttls", "xmpp", "-xmpphost",
        TestServer.domain,
        "-CAfile", authority.caFile, "-verify_hostname", TestServer.domain, "-verify_return_error", "-brief",
      ])
    // What OpenSSL lets pass and an XMPP client should not is the business of the client's own tests.
    if [.valid, .commonNameOnly, .addressOfXMPP].contains(kind) {
      try await client.errors.contains("Verification: OK")
    } else {
      try await client.errors.contains("verify error")
    }
    try await client.stop()
    try await server.end()
  }
}
