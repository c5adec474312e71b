import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The command imctl presence", .serialized)
struct PresenceTests {
  @Test(
    "A presence is held while a command runs, and the earlier presence is restored afterwards.",
    arguments: TestServer.Kind.oneOfEach)
  func held(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "chat", "hi", "--priority", "3").status == 0)
    try await bob.sees(user, after: 1) { $0.show == "chat" && $0.priority == 3 }
    let holder = try await user.imctl.start(["presence", "dnd", "deploying", "--", "cat"])
    try await bob.sees(user) { $0.show == "dnd" && $0.status == "deploying" && $0.priority == 3 }
    #expect(try await user.status().presence?.show == .dnd)
    holder.write("through\n")
    holder.closeInput()
    #expect(try await holder.ended(within: .seconds(90)) == .exited(0))
    #expect(holder.output.text == "through\n")
    try await bob.sees(user, after: 3) { $0.show == "chat" && $0.status == "hi" && $0.priority == 3 }
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.show) == ["", "chat", "dnd", "chat"])
  }

  @Test(
    "The newest of several overlapping holds decides which presence is shown.",
    arguments: TestServer.Kind.oneOfEach)
  func overlapping(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    func hold(_ show: String) async throws -> ChildProcess {
      let holder = try await user.imctl.start(["presence", show, "--", "cat"])
      try await bob.sees(user) { $0.show == show }
      return holder
    }
    let oldest = try await hold("away")
    let middle = try await hold("xa")
    let newest = try await hold("dnd")
    middle.closeInput()
    #expect(try await middle.ended(within: .seconds(90)) == .exited(0))
    try await user.clients(2)
    newest.closeInput()
    #expect(try await newest.ended(within: .seconds(90)) == .exited(0))
    try await bob.sees(user, after: 4) { $0.show == "away" }
    oldest.closeInput()
    #expect(try await oldest.ended(within: .seconds(90)) == .exited(0))
    try await bob.sees(user, after: 5) { $0.show == "" }
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.show) == ["", "away", "xa", "dnd", "away", ""])
  }

  @Test("The earlier presence is restored when the process that holds another one is killed.")
  func killedHolder() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    let holder = try await user.imctl.start(["presence", "dnd", "--", "cat"])
    try await bob.sees(user) { $0.show == "dnd" }
    holder.send(SIGKILL)
    try await bob.sees(user, after: 2) { $0.show == "" }
    holder.closeInput()
    #expect(try await holder.ended(within: .seconds(90)) == .signaled(SIGKILL))
  }

  @Test("A presence hold survives a restart of the agent and a killed agent.")
  func heldOn() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    let old = try await user.imctl.start(["presence", "away", "old", "--", "sh", "-c", "echo up; cat"])
    try await old.output.contains("up\n")
    let holder = try await user.imctl.start(["presence", "dnd", "new", "--", "sh", "-c", "echo up; cat"])
    try await holder.output.contains("up\n")
    try await bob.sees(user) { $0.status == "new" }
    for isKilled in [false, true] {
      if isKilled {
        kill(try await user.agent(), SIGKILL)
      } else {
        #expect(try await user.imctl.run("agent", "restart").status == 0)
      }
      // Of overlapping holds the newest wins, in whatever order they come back.
      try await eventually("the newest hold") {
        let presence = try await user.session()?.presence
        return presence?.status == "new" && presence?.applied == true
      }
      // A session that was resumed need not say it again.
      try await eventually("the newest hold at the other end") {
        try await bob.settled()
        return bob.seen(of: user).last?.status == "new"
      }
    }
    holder.closeInput()
    #expect(try await holder.ended(within: .seconds(90)) == .exited(0))
    try await eventually("the older hold") { try await user.session()?.presence?.status == "old" }
    old.closeInput()
    #expect(try await old.ended(within: .seconds(90)) == .exited(0))
    try await eventually("what was before") { try await user.session()?.presence?.show == .online }
  }

  @Test("A presence hold ends with the exit status of its command.")
  func status() async throws {
    let user = try await User()
    try await user.goOnline()
    for (command, status) in [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
      let result = try await user.imctl.run("presence", "dnd", "--", "sh", "-c", command)
      #expect(result.status == Int32(status), "\(command)")
    }
    #expect(try await user.imctl.run("presence", "dnd", "--", "/nowhere/at/all").status == 127)
    #expect(try await user.imctl.run("presence", "dnd", "--", "/etc/passwd").status == 126)
    try await eventually("what was before") { try await user.session()?.presence?.show == .online }
  }

  @Test(
    "A presence with a time limit is shown for that time, and then the earlier presence.",
    arguments: TestServer.Kind.oneOfEach)
  func limited(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "xa", "tea").status == 0)
    #expect(try await user.imctl.run("presence", "away", "back soon", "--for", "1s").status == 0)
    try await bob.sees(user) { $0.show == "away" && $0.status == "back soon" }
    try await bob.sees(user, after: 3) { $0.show == "xa" && $0.status == "tea" }
  }

  @Test(
    "A directed presence reaches only the JID that it is directed to.", arguments: TestServer.Kind.oneOfEach)
  func directed(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline("--no-presence")
    let result = try await user.imctl.run("presence", "chat", "only you", "--to", bob.jid)
    #expect(result.status == 0)
    try await bob.sees(user) { $0.show == "chat" && $0.status == "only you" }
    // The desired presence is another thing.
    #expect(try await user.status().presence?.show == .online)
    #expect(try await user.status().presence?.applied == false)
    #expect(try await user.imctl.run("logout").status == 0)
    // RFC 6121 §4.6.3: who got directed presence gets unavailable too.
    try await bob.sees(user) { $0.type == "unavailable" }
    try await bob.settled()
    #expect(bob.seen(of: user).count == 2)
  }

  @Test(
    "The presence “offline” hides the account without ending its session, and “online” shows it again.",
    arguments: TestServer.Kind.oneOfEach
  )
  func offlineAndOnline(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "offline").status == 0)
    try await bob.sees(user) { $0.type == "unavailable" }
    #expect(try await user.imctl.run("status").status == 0)
    #expect(try await user.imctl.run("presence", "online", "--priority", "-1").status == 0)
    try await bob.sees(user, after: 2) { $0.type == "available" }
    #expect(bob.seen(of: user).map(\.type) == ["available", "unavailable", "available"])
  }

  @Test("A presence that is set while the account is offline is stored and shown at the next login.")
  func stored() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    let away = try await user.imctl.run("presence", "away", "later", "--priority", "9", "--json")
    #expect(away.status == 0)
    #expect(away.output == #"{"applied":false,"priority":9,"show":"away","status":"later"}"# + "\n")
    let command = try await user.imctl.run("presence", "dnd", "--", "echo", "ran")
    #expect(command.status == 0)
    #expect(command.output == "ran\n")
    try await user.goOnline()
    try await bob.sees(user, after: 2) { $0.show == "away" && $0.status == "later" && $0.priority == 9 }
    try await bob.settled()
    #expect(bob.seen(of: user).count == 3)
  }

  @Test(
    "A login shows the presence of its --presence option, and none with --no-presence.",
    arguments: TestServer.Kind.oneOfEach)
  func ofLogin(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline("--no-presence")
    #expect(try await user.status().presence?.applied == false)
    #expect(try await user.imctl.run("logout").status == 0)
    try await bob.settled()
    #expect(bob.seen(of: user).isEmpty)
    try await user.goOnline("--presence", "dnd")
    let shown = try await bob.sees(user) { $0.type == "available" }
    #expect(shown.show == "dnd")
  }

  @Test("Invalid arguments of the presence command are refused.")
  func nonsense() async throws {
    let imctl = try await IMCTL()
    for wrong in [
      ["busy"], ["away", "--priority", "128"], ["away", "--for", "soon"], ["away", "--to", ""],
      ["--", "true"],
    ] {
      let result = try await imctl.run(["presence"] + wrong)
      #expect(result.status == 64, "\(wrong)")
      #expect(result.output == "")
    }
  }
}
