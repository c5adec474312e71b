import AgentProtocol
import Glibc
import TestSupport
import Testing

@Suite("Messages to the own account", .serialized, .timeLimit(.minutes(10)))
struct OwnMessageTests {
  @Test(
    "A message to the own account is reported once on each device, live and after a login.",
    arguments: TestServer.Kind.allCases)
  func once(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let other = try await IMCTL()
    try await user.goOnline("--resource", "one")
    func logIn() async throws {
      let login = try await other.run(
        ["login", user.jid, "--password-stdin", "--resource", "two"] + user.connection, input: user.password)
      #expect(login.status == 0)
    }
    try await logIn()
    let phone = try await Counterpart(user.name, on: user.server)
    let watch = try await other.start(["watch", "--events", "message", "--json", "--since", "0"])
    let own = try await user.watch("message")
    #expect(try await user.imctl.run("send", user.jid + "/two", "to two").status == 0)
    #expect(try await user.imctl.run("send", user.jid + "/gone", "to nobody").status == 0)
    #expect(try await user.imctl.run("send", user.jid, "to all").status == 0)
    // A client that counts its messages from 1 on, each time anew, and one that gives them no id.
    for (id, text) in [("id='1'", "counted"), ("id='1'", "counted"), ("", "no id")] {
      try phone.send(xml: "<message type='chat' to='\(user.jid)' \(id)><body>\(text)</body></message>")
    }
    // A client whose messages have no id but that of the stanza.
    for (to, id) in [("/one", "from-the-phone-1"), ("/gone", "from-the-phone-2"), ("", "from-the-phone-3")] {
      try phone.send(
        xml: "<message type='chat' to='\(user.jid)\(to)' id='\(id)'><body>\(id)</body></message>")
    }
    let bodies = [
      "to two", "to nobody", "to all", "counted", "counted", "no id", "from-the-phone-1", "from-the-phone-2",
      "from-the-phone-3",
    ]
    for child in [own, watch] {
      try await child.output.first("the last") { $0.text.contains("from-the-phone-3") ? () : nil }
      try await phone.settled()
      let messages = try child.events().compactMap(\.message)
      #expect(messages.compactMap(\.body).sorted() == bodies.sorted())
      let isFirst = child === own
      #expect(
        messages.allSatisfy {
          ($0.direction == .out) == (isFirst && $0.body?.hasPrefix("to ") == true)
        })
    }
    watch.send(SIGINT)
    // Out of the archive nothing comes again.
    #expect(try await other.run("logout").status == 0)
    #expect(try await user.imctl.run("send", user.jid, "the end").status == 0)
    try await logIn()
    let after = try await other.start(["watch", "--events", "message", "--json", "--since", "0"])
    try await after.output.first("the end") { $0.text.contains("the end") ? () : nil }
    #expect(try after.events().compactMap { $0.message?.body }.sorted() == (bodies + ["the end"]).sorted())
    after.send(SIGINT)
    own.send(SIGINT)
    try await phone.end()
    try await other.end()
  }
}
