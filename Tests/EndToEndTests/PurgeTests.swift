import AgentProtocol
import TestSupport
import Testing

@Suite("Removing a conversation from the server's archive", .timeLimit(.minutes(6)))
struct PurgeTests {
  /// Bodies that a device that has just come finds in the archive.
  private func archive(of user: User, with peer: String) async throws -> [String?] {
    let imctl = try await IMCTL()
    try await User(user, imctl: imctl).goOnline()
    let history = try await imctl.run("history", peer, "--sync", "--json")
    #expect(history.status == 0, "\(history.errors)")
    try await imctl.end()
    return try history.objects(Event.self).messages.map(\.body)
  }

  @Test(
    "The option --purge removes a conversation through ejabberd's API, and changes nothing if that fails.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func purge(kind: TestServer.Kind) async throws {
    var options = Neighbourhood.options(kind)
    let name = "\(kind)1"
    options.accounts = options.accounts.filter { ["bob", name, "\(kind)2", "\(kind)3"].contains($0.key) }
    options.apiUsers = ["bob"]
    options.certificate = try await TestAuthority.shared.certificate(for: [TestServer.domain, "localhost"])
    let server = try await TestServer(options)
    let user = try await User(account: "bob", on: server)
    let (peer, other) = (server.jid(name), server.jid("\(kind)2"))
    try await user.goOnline()
    for jid in [peer, other, peer] { #expect(try await user.imctl.run("send", jid, "to \(jid)").status == 0) }
    #expect(try await archive(of: user, with: peer) == ["to \(peer)", "to \(peer)"])

    let clear = ["conversations", "clear", peer]
    #expect(try await user.imctl.run(clear + ["--api", server.apiURL]).status == 64)
    #expect(try await user.imctl.run(clear + ["--purge", "--api", "http://localhost/api"]).status == 64)
    let nowhere = try await user.imctl.run(clear + ["--purge", "--api", server.apiURL + "/none", "--json"])
    #expect(nowhere.status == 74, "\(nowhere.errors)")
    #expect(try await user.imctl.run("history", peer, "--json").lines.count == 2)

    let closed = try await user.imctl.run(clear + ["--purge", "--api", "https://localhost:1/api", "--json"])
    #expect(closed.status == 69)
    #expect(closed.errors.contains("the API at https://localhost:1/api (--api): "))

    let purged = try await user.imctl.run(clear + ["--purge", "--api", server.apiURL])
    #expect(purged.status == 0, "\(purged.errors)")
    #expect(try await user.imctl.run("history", peer, "--json").lines.isEmpty)
    #expect(try await archive(of: user, with: peer).isEmpty)
    #expect(try await archive(of: user, with: other) == ["to \(other)"])

    let stranger = try await User(account: name, on: server)
    try await stranger.goOnline()
    let refused = try await stranger.imctl.run(
      ["conversations", "clear", user.jid, "--purge", "--api", server.apiURL, "--json"])
    #expect(refused.status == 74)
    #expect(try ["forbidden", "not-authorized"].contains(refused.error.condition))
    // What the other one has is theirs.
    #expect(try await archive(of: stranger, with: user.jid).count == 2)
    try await server.end()
  }
}
