import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Terminal
@testable import imctl

@Suite("imctl history")
struct HistoryCommandTests {
  private static func event(_ change: (inout MessageEvent) -> Void = { _ in }) -> String {
    var message = MessageEvent(
      from: "bob@example.org/desk", to: "alice@example.org/shell", direction: .in, type: "chat", body: "hi")
    change(&message)
    var table = MessageTable(OutputStyle(columns: nil), namesRecipients: true)
    let event = Event(
      account: "alice@example.org", time: "2025-11-21T02:42:13.123Z", cursor: 1, body: .message(message))
    let jid = message.direction == .out ? message.to ?? "" : message.from ?? ""
    let name = message.type == "groupchat" ? "Bob\u{1b}" : nil
    let bare = String(jid.prefix { $0 != "/" })
    let lines =
      table.add(Shown(event, Appearance(jid: bare, name: name, color: "#dd00af"))) + table.finish()
    return lines.map { $0.drop { $0 != "\t" }.dropFirst() }.joined(separator: "\n")
  }

  @Test("A row of the history has time, sender and text, with control characters escaped.")
  func lines() {
    #expect(Self.event() == "bob@example.org\thi")
    let sent = Self.event {
      $0.direction = .out
      ($0.from, $0.to, $0.subject) = ($0.to, $0.from, "new\u{1b}")
      $0.body = "a\nb\u{202e}"
    }
    #expect(sent == "you → bob@example.org\t[new\\x1b] a\\nb\\u{202e}")
    let room = Self.event {
      $0.type = "groupchat"
      $0.from = "room@muc.example.org/Bob"
    }
    #expect(room == "Bob\\x1b\thi")
    let error = Self.event {
      $0.type = "error"
      $0.body = nil
    }
    #expect(error == "bob@example.org\t(error) ")
    let refused = Self.event {
      $0.type = "error"
      $0.body = nil
      $0.error = .init(condition: "service-unavailable", text: "no\u{1b}")
    }
    #expect(
      refused == "bob@example.org\t(error: service-unavailable: no\\x1b) ")
    let failed = Self.event { $0.error = .init(condition: "item-not-found") }
    #expect(failed == "bob@example.org\t(failed: item-not-found) hi")
    let edited = Self.event { ($0.edited, $0.encrypted) = (true, true) }
    #expect(edited == "bob@example.org\t(edited, encrypted) hi")
    let retracted = Self.event { ($0.retracted, $0.body) = (true, nil) }
    #expect(retracted == "bob@example.org\t(retracted) ")
  }

  @Test("A message with /me is printed in the third person, with control characters escaped.")
  func me() {
    #expect(
      Self.event { $0.body = "/me waves\u{1b}[2J" }
        == "bob@example.org\t* bob waves\\x1b[2J")
    let sent = Self.event {
      ($0.direction, $0.from, $0.to, $0.body) = (.out, $0.to, $0.from, "/me waves")
      $0.edited = true
    }
    #expect(sent == "you → bob@example.org\t(edited) * alice waves")
    let room = Self.event {
      ($0.type, $0.from, $0.body) = ("groupchat", "room@muc.example.org/Bob", "/me waves")
    }
    #expect(room == "Bob\\x1b\t* Bob\\x1b waves")
  }

  @Test("The command history prints nothing from an empty store, starts no agent, and creates no database.")
  func nothing() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("history").status == 78)
      #expect(try await imctl.run("history", "-a", "alice@example.org").status == 78)
      try Accounts.write(Accounts.two, in: imctl)
      let result = try await imctl.run("history", "bob@example.org", "-a", "alice@example.org")
      #expect((result.output, result.errors, result.status) == ("", "", 0))
      #expect(try await imctl.run("history", "--json").status == 0)
      let unknown = try await imctl.run("history", "-a", "nobody@example.org")
      #expect(unknown.status == 67 && unknown.errors.contains("nobody@example.org"))
      #expect(try await imctl.processes().isEmpty)
      #expect(!FileManager.default.fileExists(atPath: imctl.home + "/.local/state/imctl/imctl.sqlite"))
    }
  }

  @Test(
    "Invalid arguments of the history command are refused.",
    arguments: [
      ["--limit", "-1"], ["--limit", "x"], ["--search", " "], ["--before", "yesterday"],
      ["--after", "2026-02-30"],
      ["@"], ["a", "b"], ["--search", String(repeating: "x ", count: 33)],
      ["--search", String(repeating: "x", count: 1001)],
    ])
  func refused(arguments: [String]) async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run(["history", "-a", "alice@example.org"] + arguments)
      #expect(result.status == 64 && result.output.isEmpty)
    }
  }

  @Test("The option --sync makes the agent fetch older messages first, and fails with 67 without an agent.")
  func sync() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      #expect(try await imctl.run("history", "--sync").status == 67)
      let agent = try FakeAgent(imctl) { call in
        call.method == HistorySyncMethod.name ? [.result(HistorySyncMethod.Result(fetched: 7))] : []
      }
      let result = try await imctl.run(
        "history", "carol@example.org/x", "--sync", "--limit", "9", "--search", "two words", "--after",
        "2026-11-21T00:00:00Z")
      #expect(result.status == 0 && result.output.isEmpty && result.errors.contains("--sync"))
      let asked = try #require(try agent.parameters(of: HistorySyncMethod.self))
      #expect(asked.account == "bob@example.org" && asked.with == "carol@example.org" && asked.limit == 9)
      #expect(asked.words == ["two", "words"] && asked.after == 1_795_219_200 && asked.before == nil)
      agent.end()
    }
  }

  @Test("A damaged store is reported by the command that starts the agent, and by agent status.")
  func damaged() async throws {
    try await withIMCTL { imctl in
      let database = try Self.damage(imctl)
      let reading = try await imctl.run("history", "-a", "alice@example.org")
      #expect(reading.status == 73 && reading.errors.contains(database))
      let start = try await imctl.run("agent", "start")
      #expect(start.status == 0 && start.errors.contains("the local store was damaged"))
      let status = try await imctl.run("agent", "status")
      #expect(status.output.contains("the local store was damaged") && status.output.contains(".corrupt-"))
      #expect(try await imctl.run("agent", "status", "--json").output.contains(#""damagedStore":"#))
      #expect(try await imctl.run("agent", "log").output.contains("a damaged database was moved to"))
      #expect(try await imctl.run("history", "-a", "alice@example.org").status == 78)
      #expect(try await imctl.run("agent", "stop").status == 0)
    }
  }

  @Test(
    "The command agent start does not report a damaged store with -q or --json.", arguments: ["-q", "--json"])
  func damagedQuietly(option: String) async throws {
    try await withIMCTL { imctl in
      _ = try Self.damage(imctl)
      let start = try await imctl.run("agent", "start", option)
      #expect((start.errors, start.status) == ("", 0))
      #expect(try await imctl.run("agent", "status").output.contains("the local store was damaged"))
      #expect(try await imctl.run("agent", "stop").status == 0)
    }
  }

  /// Puts something where the database is; its path.
  private static func damage(_ imctl: IMCTL) throws -> String {
    let database = imctl.home + "/.local/state/imctl/imctl.sqlite"
    try PrivateDirectory.ensure(imctl.home + "/.local/state/imctl")
    let garbage = Data(String(repeating: "no database ", count: 500).utf8)
    guard FileManager.default.createFile(atPath: database, contents: garbage) else {
      throw TestSupportError("\(database) cannot be written")
    }
    return database
  }
}

@Suite("Points in time on the command line")
struct PointInTimeTests {
  private let now = 1_800_000_000.0

  @Test(
    "A point in time is accepted as RFC 3339 or as the time that has passed since.",
    arguments: [
      ("1970-01-02T00:00:00Z", 86_400), ("1970-01-01T01:00:00+01:00", 0), ("1970-01-01T00:00:00.500Z", 0.5),
      ("2h", 1_799_992_800), ("7d", 1_799_395_200), ("30m", 1_799_998_200), ("90s", 1_799_999_910),
    ])
  func accepted(text: String, seconds: Double) {
    #expect(PointInTime(text, now: now)?.seconds == seconds)
  }

  @Test("A date without a time means midnight in the local time zone.")
  func day() throws {
    var seconds = time_t(try #require(PointInTime("2026-11-21", now: now)).seconds)
    var local = tm()
    localtime_r(&seconds, &local)
    #expect((local.tm_year, local.tm_mon, local.tm_mday, local.tm_hour, local.tm_min) == (126, 10, 21, 0, 0))
  }

  @Test(
    "Anything that is neither a point in time nor a time span is refused.",
    arguments: [
      "", "now", "5", "-1h", "2026-13-01", "2026-02-30", "2026-1-1", "26-01-01", "2026-11-21T00:00:00",
      "2026-11-21 00:00", "９d", "1e9", "2026--1-01", String(repeating: "9", count: 1000) + "d",
    ])
  func refused(text: String) {
    #expect(PointInTime(text, now: now) == nil)
  }
}
