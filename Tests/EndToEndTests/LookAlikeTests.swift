import AgentProtocol
import TestSupport
import Testing

@Suite("Contact requests of look-alike JIDs", .timeLimit(.minutes(4)))
struct LookAlikeTests {
  @Test(
    "A contact request from a JID that looks like the JID of a contact is reported with that JID."
  )
  func request() async throws {
    var options = TestServer.Options(.prosody)
    let mallory = "b\u{43e}b"
    options.accounts[mallory] = "mallory-secret"
    options.friends = []
    let server = try await TestServer(options)
    let user = try await User(account: "alice", on: server)
    try await user.goOnline()
    let bob = server.jid("bob")
    #expect(try await user.imctl.run("contacts", "add", bob).status == 0)
    let watch = try await user.watch("contact")
    let stranger = try await Counterpart(mallory, on: server, accepts: false)
    try stranger.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    try await eventually("the request") { try !watch.events().isEmpty }
    let event = try #require(try watch.events().first)
    guard case .contact(let contact) = event.body else { throw TestSupportError("\(event)") }
    #expect((contact.jid, contact.looksLike) == (server.jid(mallory), bob))
    let requests = try await user.imctl.run("contacts", "requests", "--json")
    #expect(try requests.objects(ContactRequestsMethod.Entry.self).map(\.looksLike) == [bob])
    #expect(try await user.imctl.run("contacts", "requests").output.contains("\t\(bob)\t"))
    try await stranger.end()
    try await server.end()
  }
}
