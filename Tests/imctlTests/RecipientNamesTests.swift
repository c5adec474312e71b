import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

@Suite("Recipients by name")
struct RecipientNamesTests {
  /// An agent that knows Bob, and answers whatever else it is asked.
  private static func agent(_ imctl: IMCTL) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      switch call.method {
      case RecipientsResolveMethod.name:
        guard let words = try? call.parameters(of: RecipientsResolveMethod.self).words else { return [] }
        if words.contains("nobody") {
          return [
            .failure(Failure(.invalidParameter, stage: .input, detail: .session(.unknownName, "nobody")))
          ]
        }
        return [.result(words.map { $0 == "The Bob" ? "bob@c" : $0 })]
      case MessageSendMethod.name:
        guard let messages = try? call.parameters(of: MessageSendMethod.self).messages else { return [] }
        return [.result(messages.map { MessageSendMethod.Outcome(id: "1", to: $0.to, state: .sent) })]
      case ContactsChangeMethod.name:
        let jid = try? call.parameters(of: ContactsChangeMethod.self).jid
        return [.result(ContactsChangeMethod.Result(action: .update, jid: jid))]
      case ConversationsChangeMethod.name:
        let jid = try? call.parameters(of: ConversationsChangeMethod.self).jid
        return [.result(ConversationsChangeMethod.Result(jid: jid ?? "", action: nil, published: true))]
      default: return []
      }
    }
  }

  @Test(
    "Every command with a recipient lets the agent look up its name, unless it contains an @."
  )
  func commands() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      for arguments in [
        ["send", "The Bob", "hi"], ["edit", "The Bob", "1", "hi"],
        ["contacts", "rename", "The Bob", "Bobby"],
        ["contacts", "remove", "The Bob"], ["conversations", "pin", "The Bob"],
        ["conversations", "mark", "The Bob", "+work"],
      ] {
        let before = agent.methods.count
        let result = try await imctl.run(arguments)
        #expect(result.status == 0, "\(arguments): \(result.errors)")
        #expect(agent.methods[before...].first == RecipientsResolveMethod.name, "\(arguments)")
        var unknown = arguments
        unknown[arguments[0].hasPrefix("con") ? 2 : 1] = "nobody"
        let refused = try await imctl.run(unknown)
        #expect(refused.status == 64 && refused.errors.contains("nobody is called nobody"), "\(arguments)")
        #expect(agent.methods.last == RecipientsResolveMethod.name)
      }
      #expect(try agent.parameters(of: MessageSendMethod.self)?.messages.first?.to == "bob@c")
      #expect(try agent.parameters(of: ContactsChangeMethod.self)?.jid == "bob@c")
      #expect(try agent.parameters(of: ConversationsChangeMethod.self)?.jid == "bob@c")
      let before = agent.methods.count
      for word in ["bob@c", "xmpp:c", "localhost."] {
        #expect(try await imctl.run("send", word, "hi").status == 0)
      }
      #expect(agent.methods[before...].allSatisfy { $0 == MessageSendMethod.name })
      #expect(try agent.parameters(of: MessageSendMethod.self)?.messages.first?.to == "localhost")
      let several = try await imctl.run("send", "The Bob", "--to", "d@c", "--to", "e.c", "hi", "--json")
      #expect(try several.objects(MessageSendMethod.Outcome.self).map(\.to) == ["bob@c", "d@c", "e.c"])
      agent.end()
    }
  }

  @Test(
    "Commands that work without an agent look up a recipient's name in the local store.")
  func stored() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("history", "Bob").status == 78)
      try Accounts.write(Accounts.two, in: imctl)
      for command in ["history", "threads list"].map({ $0.split(separator: " ").map(String.init) }) {
        let unknown = try await imctl.run(command + ["Bob"])
        #expect(unknown.status == 64 && unknown.errors.contains("nobody is called Bob"), "\(unknown.errors)")
        #expect(try await imctl.run(command + ["bob@c"]).status == 0)
        #expect(try await imctl.run(command + ["server.c"]).status == 0)
      }
      let direct = try await imctl.run("send", "--direct", "Bob", "hi")
      #expect(direct.status == 64 && direct.errors.contains("nobody is called Bob"), "\(direct.errors)")
      #expect(try await imctl.processes().isEmpty)
    }
  }
}
