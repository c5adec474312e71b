import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Accounts changed on disk while the agent runs", .serialized)
struct AccountReloadTests {
  /// Replaces the file as an editor does, with `change` made to its text.
  private static func edit(_ user: User, _ change: (String) -> String) throws {
    let data = try Data(contentsOf: URL(filePath: user.accountsPath))
    let text = change(String(decoding: data, as: UTF8.self))
    let temporary = user.accountsPath + "~"
    try Data(text.utf8).write(to: URL(filePath: temporary))
    chmod(temporary, 0o600)
    guard rename(temporary, user.accountsPath) == 0 else { throw TestSupportError("rename: \(errno)") }
  }

  private static func log(_ user: User) async throws -> [String] {
    try await user.imctl.run("agent", "log").lines
  }

  @Test("An edit of isLogin in accounts.json logs the account out, and another edit logs it in again.")
  func outAndIn() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    try await bob.sees(user) { $0.type == "available" }
    // Somebody who watches, so that the agent stays.
    let watch = try await user.watch("state")
    try Self.edit(user) { $0.replacing("\"isLogin\" : true", with: "\"isLogin\" : false") }
    try await bob.sees(user) { $0.type == "unavailable" }
    try await watch.state(.offline)
    let seen = try watch.events().count
    try Self.edit(user) { $0.replacing("\"isLogin\" : false", with: "\"isLogin\" : true") }
    try await watch.state(.syncOK, after: seen)
    try await bob.sees(user, after: 2) { $0.type == "available" }
    // The password is still there: nothing of this was the agent's own doing.
    #expect(try user.stored().first?.password == user.password)
    #expect(try await user.imctl.run("status").status == 0)
    // An account that is gone is logged out, too.
    try Self.edit(user) { _ in #"{"version":1,"accounts":[]}"# }
    try await bob.sees(user, after: 3) { $0.type == "unavailable" }
    watch.send(SIGINT)
    _ = try await watch.ended(within: .seconds(90))
  }

  @Test("An account that is added to accounts.json while the agent runs is logged in.")
  func imported() async throws {
    let user = try await User()
    let other = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    let pid = try await user.agent()
    // What connects them is stored with the account, so it is taken from the first one's entry.
    try Self.edit(user) { text in
      guard var file = try? JSONDecoder().decode([String: JSON].self, from: Data(text.utf8)),
        case .array(let accounts) = file["accounts"], case .object(var second) = accounts.first
      else { return text }
      second["account"] = .string(other.jid)
      second["password"] = .string(other.password)
      for key in ["token", "scramKeys", "deviceId"] { second[key] = nil }
      file["accounts"] = .array(accounts + [.object(second)])
      return (try? String(decoding: JSONEncoder().encode(file), as: UTF8.self)) ?? text
    }
    try await bob.sees(other) { $0.type == "available" }
    #expect(try await user.agent() == pid)
    let all = try await user.imctl.run("status", "--all", "--json").objects(SessionStatus.self)
    #expect(all.map(\.account) == [user.jid, other.jid])
    #expect(all.first?.sessions == 1)
  }

  @Test("An edited presence is shown at once, and an edited resource applies to the next connection.")
  func options() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline("--resource", "one")
    #expect(try await user.imctl.run("presence", "away", "lunch").status == 0)
    try await bob.sees(user) { $0.show == "away" }
    try Self.edit(user) { text in
      text.replacing("\"lunch\"", with: "\"dinner\"")
        .replacing("\"resource\" : \"one\"", with: "\"resource\" : \"two\"")
    }
    try await bob.sees(user) { $0.status == "dinner" }
    #expect(try await user.status().fullJID == user.jid + "/one")
    #expect(try await user.imctl.run("agent", "idle", "--mode", "disconnect").status == 0)
    #expect(try await user.imctl.run("agent", "active").status == 0)
    try await bob.sees(user) { $0.from == user.jid + "/two" && $0.status == "dinner" }
  }

  @Test("A broken accounts.json is reported in the log and by agent status, and the session goes on.")
  func broken() async throws {
    let user = try await User()
    try await user.goOnline()
    let good = try Data(contentsOf: URL(filePath: user.accountsPath))
    try Self.edit(user) { String($0.dropLast(20)) }
    try await eventually("a line in the log") {
      try await Self.log(user).contains {
        $0.contains("the accounts cannot be read") && $0.contains("not JSON")
      }
    }
    let status = try await user.imctl.run("agent", "status")
    #expect(status.status == 0)
    #expect(status.output.contains("1 of 1 accounts online"))
    #expect(status.output.contains("accounts.json: not JSON"))
    try Self.edit(user) { _ in String(decoding: good, as: UTF8.self) }
    try await eventually("another line") {
      try await Self.log(user).contains { $0.contains("can be read again") }
    }
    #expect(try await user.status().sessions == 1)
    #expect(try await user.imctl.run("agent", "status").output.contains("accounts.json") == false)
  }

  @Test("The commands status and logout do their work while accounts.json is broken, and report the error.")
  func brokenButOnline() async throws {
    let user = try await User()
    try await user.goOnline()
    let good = try String(contentsOf: URL(filePath: user.accountsPath), encoding: .utf8)
    try Self.edit(user) { String($0.dropLast(20)) }
    for arguments in [[], ["--all"], ["--account", user.jid]] {
      let status = try await user.imctl.run(["status"] + arguments)
      #expect(status.status == 0 && status.output.contains("syncOK"))
      #expect(status.output.contains("accounts.json: not JSON"))
    }
    #expect(try await user.status().warnings?.map(\.name) == [.databaseError])
    let logout = try await user.imctl.run("logout")
    #expect(logout.status == 73 && logout.output == "\(user.jid) offline\n")
    #expect(logout.errors.contains("the logout could not be stored") && logout.errors.contains("not JSON"))
    try await user.agentEnded()
    try Self.edit(user) { _ in good }
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try user.stored().map(\.isLogin) == [false])
  }

  @Test("The agent does not react to its own writes of accounts.json.")
  func ownWrites() async throws {
    let user = try await User()
    try await user.goOnline()
    let before = try await Self.log(user).count
    for show in ["away", "xa", "dnd", "chat", "online"] {
      #expect(try await user.imctl.run("presence", show).status == 0)
    }
    // A change that is noticed: what was written before it has been looked at, too.
    try Self.edit(user) { $0.replacing("\"isLogin\" : true", with: "\"isLogin\" : false") }
    try await eventually("offline") {
      try await Self.log(user).dropFirst(before).contains { $0.contains(": state") }
    }
    let lines = try await Self.log(user).dropFirst(before)
    #expect(lines.count { $0.contains(": state") } == 1)
  }

  @Test("SIGHUP makes the agent reload its accounts at once, and does not end it.")
  func hangUp() async throws {
    let user = try await User()
    try await user.goOnline()
    let pid = try await user.agent()
    kill(pid, SIGHUP)
    try await eventually("the signal") {
      try await Self.log(user).contains { $0.contains("signal SIGHUP") || $0.lowercased().contains("sighup") }
    }
    #expect(try await user.agent() == pid)
    #expect(try await user.imctl.run("status").status == 0)
  }
}

/// JSON of any shape.
private enum JSON: Codable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let string = try? value.decode(String.self) {
      self = .string(string)
    } else if let array = try? value.decode([JSON].self) {
      self = .array(array)
    } else {
      self = .object(try value.decode([String: JSON].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
