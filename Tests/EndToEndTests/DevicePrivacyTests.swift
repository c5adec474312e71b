import AgentProtocol
import Glibc
import TestSupport
import Testing

/// A Prosody that writes down what is published to it, and may not say that it heeds publish-options.
private struct Witness {
  let server: TestServer

  init() async throws {
    var options = Neighbourhood.options(.prosody13)
    options.friends = []
    server = try await TestServer(options)
    try await server.evaluate(
      """
      prosody.test_hides = true
      prosody.test_published = {}
      local events = prosody.hosts["\(server.options.domain)"].events
      events.add_handler("account-disco-info", function (event)
        if not prosody.test_hides then return end
        event.reply.tags[1]:maptags(function (tag)
          if tag.attr.var ~= "http://jabber.org/protocol/pubsub#publish-options" then return tag end
        end)
      end, -1000)
      events.add_handler("pre-iq/bare", function (event)
        local child = event.stanza.tags[1]
        if event.stanza.attr.type == "set" and child and child.name == "pubsub" then
          table.insert(prosody.test_published, tostring(event.stanza))
        end
      end, 1000)
      """)
  }

  func hides(_ hides: Bool) async throws { try await server.evaluate("prosody.test_hides = \(hides)") }

  /// Every request to publish or to change a node.
  func published() async throws -> String {
    try await server.evaluate("return table.concat(prosody.test_published, \"\\n\")")
  }
}

@Suite(
  "The privacy of device records", .serialized,
  .timeLimit(.minutes(6)))
struct DevicePrivacyTests {
  @Test(
    "A device publishes its name and extension after a successful login, and not during a failed one.",
    arguments: TestServer.Kind.newer)
  func failedLogin(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let watch = try await user.watch("device")
    let phone = try await IMCTL()
    let words = ["login", user.jid, "--password-stdin", "--resource", "phone", "--platform", "60"]
    let wrong = try await phone.run(
      words + ["-vv", "--device-name", "too early", "--device-ext", "secret place"] + user.connection,
      input: "wrong")
    #expect(wrong.status == 77)
    // Beside what authenticates (XEP-0388 §2.4.2), which the server forgets where that fails.
    let sent = wrong.sent.split(separator: "\n").filter { !$0.contains("<authenticate ") }.joined()
    for word in ["too early", "urn:imctl", "pubsub"] { #expect(!sent.contains(word), "\(sent)") }
    #expect(!wrong.sent.contains("secret place"))
    let right = try await phone.run(
      words + ["--device-name", "in time"] + user.connection, input: user.password)
    #expect(right.status == 0, "\(right.errors)")
    let added = try await watch.output.first("a device") { _ in
      try watch.events().devices.first { $0.action == .add }
    }
    #expect(added.name == "in time" && added.jid == user.jid + "/phone")
    let devices = try await user.devices()
    #expect(Set(devices.keys) == ["desk", "phone"] && devices["phone"]?.name == "in time")
  }

  @Test(
    "A device publishes nothing on a server that cannot keep it private, and everything else still works."
  )
  func withoutPublishOptions() async throws {
    let witness = try await Witness()
    let user = try await User(on: .prosody13, server: witness.server)
    try await user.goOnline("--resource", "desk", "--device-name", "private desk")
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    let bob = try await Counterpart("bob", on: witness.server, accepts: false)
    let watch = try await user.watch("message,contact")
    try bob.send("hello", to: user.jid)
    try await watch.messages(1)
    try bob.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    try await watch.contacts { $0.last == "request contact" }
    let change = try await user.imctl.run("conversations", "pin", "--json", bob.bareJID)
    #expect(change.status == 0 && change.output.contains(#""published":false"#), "\(change)")
    let told = try await user.imctl.run("conversations", "mute", bob.bareJID)
    #expect(told.status == 0 && told.errors.contains("the other devices cannot be told"), "\(told)")
    #expect(try await user.imctl.run("conversations", "read", bob.bareJID).status == 0)
    #expect(try await user.imctl.run("devices", "name", "very private").status == 0)
    #expect(try await user.imctl.run("contacts", "deny", bob.bareJID).status == 0)
    // What was set holds here; the others are seen, and kicked.
    #expect(try await user.imctl.run("conversations", "list").output.contains("pinned, muted"))
    let devices = try await user.devices()
    #expect(Set(devices.keys) == ["desk", "phone"] && devices.values.allSatisfy(\.online))
    let policy = try await user.imctl.run("devices", "policy", "single")
    #expect((policy.output, policy.status) == ("single\n", 0))
    #expect(policy.errors.contains("the other devices will be told"), "\(policy)")
    #expect(try await user.imctl.run("devices", "kick", "phone").output == "phone kicked\n")
    try await phone.becomes(.kicked)
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await witness.published() == "")
    // As soon as the server says so it is told what waits.
    try await witness.hides(false)
    try await user.goOnline()
    try await eventually("what has waited") {
      let published = try await witness.published()
      return published.contains("very private") && published.contains("rule='single'")
        && published.contains("urn:imctl:conversations:0")
    }
    // The list is read from the store, and no event tells that nothing is pending any more.
    try await eventually("nothing to wait for") {
      try await user.imctl.run("conversations", "list", "--json").output.contains(#""pending":false"#)
    }
    try await bob.end()
    try await witness.server.end()
  }
}
