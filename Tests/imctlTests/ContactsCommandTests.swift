import AgentProtocol
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("imctl contacts")
struct ContactsCommandTests {
  /// An agent with so many contacts, some at a time.
  private static func agent(_ imctl: IMCTL, count: Int = 3, stale: Bool = false) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      switch call.method {
      case ContactsListMethod.name:
        let after = try? call.parameters(of: ContactsListMethod.self).after
        let start = after.flatMap { Int($0.drop { $0 != "-" }.dropFirst()) }.map { $0 + 1 } ?? 0
        let page = (start..<min(start + 2, count)).map { number in
          var contact = Contact(jid: "u-\(number)", name: "n\u{1b}[0m", groups: ["g,1"], subscription: "both")
          contact.stale = stale
          if number == 1 {
            contact.presence = [
              ContactPresence(resource: "r\r", show: .away, status: "\u{202e}x", priority: 5)
            ]
          }
          return contact
        }
        return [.result(ContactsListMethod.Result(contacts: page, more: start + 2 < count, stale: stale))]
      case ContactsChangeMethod.name:
        let parameters = try? call.parameters(of: ContactsChangeMethod.self)
        if parameters?.jid == "gone@b" {
          return [.failure(Failure(.stanzaError, stage: .request, condition: "item-not-found"))]
        }
        return [.result(ContactsChangeMethod.Result(action: .remove, jid: parameters?.jid))]
      default: return []
      }
    }
  }

  @Test(
    "The command contacts list prints all contacts page by page, with control characters escaped."
  )
  func list() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, count: 5)
      let text = try await imctl.run("contacts", "list")
      #expect(text.status == 0 && text.errors == "")
      #expect(text.lines.count == 5 && agent.methods.count == 3)
      #expect(text.lines.first == "n\\x1b[0m\tu-0\tboth\tg,1\t")
      #expect(
        text.lines.dropFirst().first
          == "n\\x1b[0m\tu-1\tboth\tg,1\tr\\r: away \"\\u{202e}x\", priority 5")
      let json = try await imctl.run("contacts", "list", "--json")
      #expect(try json.objects(Contact.self).map(\.jid) == (0..<5).map { "u-\($0)" })
      #expect(
        json.lines.first
          == #"{"approved":false,"ask":null,"blocked":false,"groups":["g,1"],"jid":"u-0","name":"n\u001b[0m","#
          + #""presence":[],"stale":false,"subscription":"both"}"#)
      #expect(try await imctl.run("contacts", "list", "--online").lines.count == 1)
      #expect(try await imctl.run("contacts", "list", "--group", "none").output == "")
      agent.end()
    }
  }

  @Test(
    "A list of contacts that may be out of date is marked on standard error, and in every object of the JSON."
  )
  func stale() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, stale: true)
      let text = try await imctl.run("contacts", "list")
      #expect(text.status == 0 && text.lines.count == 3)
      #expect(text.errors == "imctl: not online: this data may be out of date\n")
      let json = try await imctl.run("contacts", "list", "--json")
      #expect(json.errors == "")
      #expect(try json.objects(Contact.self).map(\.stale) == [true, true, true])
      agent.end()
    }
  }

  @Test("The commands that list contacts end with exit status 78 if no account is stored.")
  func noAccount() async throws {
    try await withIMCTL { imctl in
      for command in ["list", "requests", "blocked"] {
        let result = try await imctl.run("contacts", command)
        #expect(result.status == 78 && result.output == "", "\(command)")
      }
    }
  }

  @Test("The options of the commands that change contacts reach the agent.")
  func changes() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      func sent(_ words: String...) async throws -> ContactsChangeMethod.Parameters? {
        let result = try await imctl.run(["contacts"] + words)
        #expect(result.status == 0 && result.output == "", "\(result)")
        return try agent.parameters(of: ContactsChangeMethod.self)
      }
      var wanted = ContactsChangeMethod.Parameters(account: "a@b", .add, jid: "b@c")
      wanted.name = "B"
      wanted.groups = ["x", "y z"]
      wanted.text = "hi"
      wanted.timeout = 7
      var added = try #require(
        try await sent(
          "add", "b@c", "--name", "B", "--group", "x", "--group", "y z", "--message", "hi", "-a", "a@b",
          "--timeout", "7"))
      #expect(added.timeout > 6 && added.timeout <= 7)
      added.timeout = 7
      #expect(added == wanted)
      #expect(try await sent("add", "b@c", "--no-request")?.asks == false)
      #expect(try await sent("rename", "b@c", "N")?.name == "N")
      #expect(try await sent("group", "b@c", "x", "y")?.groups == ["x", "y"])
      #expect(try await sent("group", "b@c", "--clear")?.groups == [])
      let some = try await sent("group", "b@c", "--add", "x", "--remove", "y")
      #expect(some?.groups == nil && some?.adds == ["x"] && some?.removes == ["y"])
      for (words, change) in [
        ("approve", .approve), ("deny", .deny), ("block", .block), ("unblock", .unblock), ("remove", .remove),
      ] as [(String, ContactsChangeMethod.Change)] {
        let before = agent.methods.count
        let last = try await sent(words, "b@c", "d@e")
        #expect(last?.change == change && last?.jid == "d@e")
        #expect(agent.methods.count == before + 2)
      }
      let all = try await sent("unblock", "--all")
      #expect(all?.change == .unblockAll && all?.jid == nil)
      let json = try await imctl.run("contacts", "remove", "b@c", "d@e", "--json")
      #expect(
        json.output == #"{"action":"remove","jid":"b@c"}"# + "\n" + #"{"action":"remove","jid":"d@e"}"# + "\n"
      )
      agent.end()
    }
  }

  /// An agent that takes a second for each change; with what each had left of the time.
  private static func slowAgent(_ imctl: IMCTL, _ seen: Seen) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      guard let parameters = try? call.parameters(of: ContactsChangeMethod.self),
        call.method == ContactsChangeMethod.name
      else { return [] }
      seen.timeouts.withLock { $0.append(parameters.timeout) }
      // The time of the command that calls it passes by no clock of this process.
      usleep(1_000_000)
      return [.result(ContactsChangeMethod.Result(action: .remove, jid: parameters.jid))]
    }
  }

  private final class Seen: Sendable {
    let timeouts = Mutex<[Double]>([])
  }

  @Test("Several changes of contacts share one time limit, and end with 75 when the time is over.")
  func together() async throws {
    try await withIMCTL { imctl in
      let seen = Seen()
      let agent = try Self.slowAgent(imctl, seen)
      #expect(try await imctl.run("contacts", "remove", "b@c", "d@e", "--timeout", "30").status == 0)
      let timeouts = seen.timeouts.withLock { $0 }
      #expect(timeouts.count == 2 && timeouts.allSatisfy { $0 > 0 && $0 <= 30 })
      #expect(timeouts.last ?? 30 <= 29)
      let late = try await imctl.run("contacts", "remove", "f@g", "h@i", "--timeout", ".9", "--json")
      #expect((late.lines.count, late.status) == (1, 75))
      #expect(late.errors.contains(#""name":"connectTimeout""#))
      #expect(try await imctl.run("contacts", "remove", "b@c", "d@e", "--timeout", "0").status == 0)
      let all = seen.timeouts.withLock { $0 }
      #expect(all.count == 5 && all.suffix(2) == [0, 0])
      agent.end()
    }
  }

  @Test("A change that the server refuses ends with exit status 74, and an invalid one with 64.")
  func refused() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      #expect(try await imctl.run("contacts", "remove", "gone@b").status == 74)
      let before = agent.methods
      for wrong in [
        ["add"], ["group", "b@c"], ["group", "b@c", "x", "--clear"], ["unblock"],
        ["unblock", "b@c", "--all"],
        ["add", "b@c", "--no-request", "--message", "hi"], ["remove"], ["nothing"],
      ] {
        #expect(try await imctl.run(["contacts"] + wrong).status == 64, "\(wrong)")
      }
      #expect(agent.methods == before)
      agent.end()
    }
  }
}
