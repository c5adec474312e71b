import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("Accounts with thousands of contacts", .timeLimit(.minutes(10)))
struct ManyContactsTests {
  /// What their server answers comes faster than ejabberd reads acknowledgements: the older one ends a session to which
  /// it has sent 5,000 stanzas without.
  @Test(
    "An account with 10,000 contacts stays online although the server sends a stanza for each of them at once.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func answerAtOnce(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.accounts = ["alice": "alice-secret"]
    options.friends = []
    let server = try await TestServer(options)
    let account = "{<<\"alice\">>, <<\"\(TestServer.domain)\">>}"
    try await server.evaluate(
      """
      [mod_roster:set_roster({roster, {<<"alice">>, <<"\(TestServer.domain)">>, J}, \(account), J, <<"Contact">>, both,
        none, [], <<>>, []})
        || I <- lists:seq(1, 10000), J <- [{<<"contact-", (integer_to_binary(I))/binary>>, <<"far.example">>, <<>>}]],
      done.
      """)
    let user = try await User(account: "alice", on: server)
    try await user.goOnline()
    let sent = try await user.imctl.run("send", user.jid, "still here", "--timeout", "90")
    #expect(sent.status == 0, "\(sent)")
    try await eventually("online") { try await user.session()?.state == .syncOK }
    let contacts = try await user.imctl.run("contacts", "list", "--json")
    #expect(contacts.output.split(separator: "\n").count == 10_000)
    try await user.imctl.end()
    try await server.end()
  }
}
