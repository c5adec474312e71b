import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl presence")
struct PresenceCommandTests {
  private static let applied = PresenceStatus(show: .dnd, status: "deploying", priority: 0, applied: true)

  private static func agent(_ imctl: IMCTL, _ status: PresenceStatus = applied) throws -> FakeAgent {
    try FakeAgent(imctl) { call in
      ["presence.set", "presence.get"].contains(call.method) ? [.result(status)] : []
    }
  }

  @Test("The arguments and options of the presence command reach the agent, and nothing is printed.")
  func set() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let result = try await imctl.run(
        "presence", "dnd", "deploying", "--priority", "-5", "--for", "90s", "-a", "bob@example.org")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      let sent = try #require(try agent.parameters(of: PresenceSetMethod.self))
      #expect(sent.show == .dnd)
      #expect(sent.status == "deploying")
      #expect(sent.priority == -5)
      #expect(sent.duration == 90)
      #expect(sent.account == "bob@example.org")
      #expect(sent.to == nil)
      #expect(!sent.hold)
      #expect(try await imctl.run("presence", "away", "--to", "carol@example.org").status == 0)
      #expect(try agent.parameters(of: PresenceSetMethod.self)?.to == "carol@example.org")
      agent.end()
    }
  }

  @Test("The presence of an account that is offline is stored, and the JSON says applied:false.")
  func notOnline() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl, PresenceStatus(show: .away, status: nil, priority: 0, applied: false))
      let text = try await imctl.run("presence", "away")
      #expect(
        (text.output, text.errors, text.status)
          == ("", "imctl: not online; the presence is stored and applied at the next login\n", 0))
      let json = try await imctl.run("presence", "away", "--json")
      #expect(
        (json.output, json.errors, json.status)
          == (#"{"applied":false,"priority":0,"show":"away","status":null}"# + "\n", "", 0))
      let chinese = try await imctl.run(["presence", "away"], environment: ["LANG": "zh_CN.UTF-8"])
      #expect(chinese.errors == "imctl: 未在线：已保存，下次登录时生效\n")
      agent.end()
    }
  }

  @Test("The presence command tells that its presence is stored while another command holds one.")
  func underHold() async throws {
    try await withIMCTL { imctl in
      var held = Self.applied
      held.applied = false
      let agent = try Self.agent(imctl, held)
      let away = try await imctl.run("presence", "away")
      #expect(away.errors == "imctl: stored; it is applied when the command that holds the presence ends\n")
      #expect(away.status == 0)
      #expect(try await imctl.run("presence", "dnd", "deploying", "--priority", "3").errors == away.errors)
      // Sent to one JID by somebody who shows no presence to the others.
      let directed = try await imctl.run("presence", "dnd", "--to", "carol@example.org")
      #expect((directed.errors, directed.status) == ("", 0))
      agent.end()
    }
  }

  @Test("Without SHOW, the desired presence is printed, and read from the store if no agent is running.")
  func show() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      #expect(try await imctl.run("presence").output == "dnd \"deploying\"\n")
      #expect(
        try await imctl.run("presence", "--json").output
          == #"{"applied":true,"priority":0,"show":"dnd","status":"deploying"}"# + "\n")
      agent.end()
      #expect(try await imctl.run("presence").status == 78)
      try Accounts.write(Accounts.two, in: imctl)
      #expect(try await imctl.run("presence").output == "online (not applied)\n")
      #expect(try await imctl.processes().isEmpty)
    }
  }

  @Test("COMMAND uses the standard streams of imctl while the presence is held, and decides its exit status.")
  func hold() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let result = try await imctl.run(
        ["presence", "dnd", "deploying", "--", "sh", "-c", "cat; echo warning >&2; exit 7"], input: "data\n")
      #expect((result.output, result.errors, result.status) == ("data\n", "warning\n", 7))
      #expect(try agent.parameters(of: PresenceSetMethod.self)?.hold == true)
      try await eventually("the end of the hold") { agent.closedConnections == 1 }
      agent.end()
    }
  }

  @Test("The presence is held as long as COMMAND runs.")
  func holdLives() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let child = try await imctl.start(["presence", "dnd", "--", "sh", "-c", "echo up; cat; exit 3"])
      try await child.output.contains("up\n")
      #expect(agent.closedConnections == 0)
      child.closeInput()
      #expect(try await child.ended() == .exited(3))
      try await eventually("the end of the hold") { agent.closedConnections == 1 }
      agent.end()
    }
  }

  @Test("A COMMAND that a signal ends gives exit status 128+N, and imctl passes signals on to COMMAND.")
  func signals() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      #expect(try await imctl.run("presence", "dnd", "--", "sh", "-c", "kill -KILL $$").status == 137)
      for (signal, status) in [(SIGTERM, "term"), (SIGHUP, "hup")] {
        let child = try await imctl.start([
          "presence", "dnd", "--", "sh", "-c",
          "trap 'echo term; exit 4' TERM; trap 'echo hup; exit 4' HUP; echo up; while :; do sleep 0.01; done",
        ])
        try await child.output.contains("up\n")
        child.send(signal)
        #expect(try await child.ended() == .exited(4))
        #expect(child.output.text == "up\n\(status)\n")
      }
      agent.end()
    }
  }

  @Test("After SIGINT, imctl waits until COMMAND ends.")
  func interrupt() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let child = try await imctl.start(["presence", "dnd", "--", "sh", "-c", "echo up; cat; exit 5"])
      try await child.output.contains("up\n")
      child.send(SIGINT)
      child.closeInput()
      #expect(try await child.ended() == .exited(5))
      agent.end()
    }
  }

  @Test("A presence hold is renewed with the next agent, and a warning is printed while no agent is running.")
  func comesBack() async throws {
    try await withIMCTL { imctl in
      let began = Date().timeIntervalSince1970
      let first = try Self.agent(imctl)
      let holder = try await imctl.start([
        "presence", "dnd", "busy", "--", "sh", "-c", "echo up; cat; exit 5",
      ])
      try await holder.output.contains("up\n")
      let held = try #require(try first.parameters(of: PresenceSetMethod.self))
      #expect(held.hold && (held.since ?? 0) >= began.rounded(.down))
      // It ends in order, and the next one is of another version.
      first.end()
      first.drop()
      try await holder.errors.contains("the presence is currently not held\n")
      let next = try FakeAgent(imctl, version: "99.0") {
        $0.method == "presence.set" ? [.result(Self.applied)] : []
      }
      try await holder.errors.contains("the presence is held again\n")
      let again = try #require(try next.parameters(of: PresenceSetMethod.self))
      #expect(again.hold && again.since == held.since && again.status == "busy" && again.show == .dnd)
      #expect(!next.methods.contains("agent.stop"))
      holder.closeInput()
      #expect(try await holder.ended(within: .seconds(60)) == .exited(5))
      try await eventually("the end of the connection") { next.closedConnections == 1 }
      next.end()
    }
  }

  @Test("A COMMAND that is not found gives exit status 127, and one that cannot be executed gives 126.")
  func notFound() async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let missing = try await imctl.run("presence", "dnd", "--", "/no/such/command")
      #expect(missing.status == 127)
      #expect(missing.errors == "imctl: /no/such/command: No such file or directory\n")
      let directory = try await imctl.run("presence", "dnd", "--", "/tmp")
      #expect(directory.status == 126)
      #expect(directory.errors == "imctl: /tmp: Permission denied\n")
      for (command, status) in [("/no/such/command", 127), ("/tmp", 126)] as [(String, Int32)] {
        let json = try await imctl.run("presence", "dnd", "--json", "--", command)
        #expect((json.lines.count, json.status) == (1, status))
        #expect(json.errors.hasPrefix(#"{"error":{"code":414,"#))
        #expect(json.errors.contains(#""detail":"\#(command): "#))
        #expect(json.errors.contains(#""exit":\#(status),"#))
        #expect(json.errors.split(separator: "\n").count == 1)
      }
      agent.end()
    }
  }

  @Test("COMMAND runs even if the agent refuses the hold or dies.")
  func agentFails() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl) { call in
        call.method == "presence.set"
          ? [.failure(Failure(.databaseError, stage: .store, detail: .text("disk")))] : []
      }
      let refused = try await imctl.run("presence", "dnd", "--", "sh", "-c", "echo ran")
      #expect((refused.output, refused.status) == ("ran\n", 0))
      #expect(refused.errors.hasPrefix("imctl: local store: the local store cannot be used (disk)\n"))
      agent.end()
      let dying = try FakeAgent(imctl) { call in call.method == "presence.set" ? [.close] : [] }
      let died = try await imctl.run("presence", "dnd", "--", "sh", "-c", "echo ran; exit 9")
      #expect((died.output, died.status) == ("ran\n", 9))
      dying.end()
    }
  }

  @Test("An agent of another version is replaced before the presence is set.")
  func otherVersion() async throws {
    try await withIMCTL { imctl in
      let agent = try FakeAgent(imctl, version: "0.0.1") { call in
        switch call.method {
        case "agent.stop": [.result(EmptyObject()), .become(Version.current), .close]
        case "presence.set": [.result(Self.applied)]
        default: []
        }
      }
      #expect(try await imctl.run("presence", "dnd").status == 0)
      #expect(agent.methods.suffix(2) == ["agent.stop", "presence.set"])
      agent.end()
    }
  }

  @Test(
    "Invalid arguments of the presence command end with exit status 64, and the agent is not asked.",
    arguments: [
      ["lunch"], ["away", "--priority", "128"], ["away", "--priority", "-129"], ["away", "--priority", "x"],
      ["away", "--for", "0s"], ["away", "--for", "-3s"], ["away", "--for", "5y"], ["away", "--for", "1e9h"],
      ["--priority", "3"], ["--", "true"], ["away", "--to", ""], ["away", "--to", "a@b", "--for", "3s"],
      ["away", "--for", "3s", "--", "true"], ["away", "text", "more"], ["away", "--timeout", "-1"],
      ["away", "--timeout", "nan"], ["away", "--nonsense"],
    ])
  func usage(arguments: [String]) async throws {
    try await withIMCTL { imctl in
      let agent = try Self.agent(imctl)
      let text = try await imctl.run(["presence"] + arguments)
      #expect((text.output, text.status) == ("", 64))
      #expect(text.errors.hasPrefix("imctl: "))
      let end = arguments.firstIndex(of: "--") ?? arguments.count
      let json = try await imctl.run(["presence"] + arguments[..<end] + ["--json"] + arguments[end...])
      #expect((json.output, json.status) == ("", 64))
      #expect(json.errors.hasPrefix(#"{"error":{"code":414,"codes":[414,33003],"condition":null,"detail":""#))
      #expect(json.lines.count == 0 && json.errors.split(separator: "\n").count == 1)
      #expect(agent.methods == [])
      agent.end()
    }
  }
}
