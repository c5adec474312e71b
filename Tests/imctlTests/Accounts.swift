import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport

/// `accounts.json` as a test wants it.
enum Accounts {
  static func path(_ imctl: IMCTL) -> String { imctl.home + "/.config/imctl/accounts.json" }

  static func write(_ text: String, in imctl: IMCTL) throws {
    try PrivateDirectory.ensure(imctl.home + "/.config/imctl")
    guard FileManager.default.createFile(atPath: path(imctl), contents: Data(text.utf8)),
      chmod(path(imctl), 0o600) == 0
    else { throw TestSupportError("\(path(imctl)) cannot be written") }
  }

  static func read(_ imctl: IMCTL) throws -> String {
    guard let data = FileManager.default.contents(atPath: path(imctl)) else { return "" }
    return String(decoding: data, as: UTF8.self)
  }

  /// alice with a password, and bob, who is the default and logged in.
  static let two = #"""
    {"version":1,"default":"bob@example.org","last":"alice@example.org","accounts":[
      {"account":"alice@example.org","domain":"example.org","isLogin":false,"password":"geheim",
       "store":"password"},
      {"account":"bob@example.org","domain":"example.org","isLogin":true,"password":"geheim",
       "store":"password"}]}
    """#

  /// alice, logged in at a server that is not there; its token has expired.
  static let unreachable = #"""
    {"version":1,"default":"alice@example.org","accounts":[
      {"account":"alice@example.org","password":"geheim","isLogin":true,"options":{"host":"127.0.0.1","port":1},
       "token":{"mechanism":"HT-SHA-256-NONE","secret":"geheim","expiry":"2000-01-01T00:00:00Z"}}]}
    """#

  /// Stores ``unreachable`` with messages that wait; no agent is running afterwards.
  static func queue(_ count: Int, in imctl: IMCTL) async throws {
    try write(unreachable, in: imctl)
    for number in 1...count {
      let sent = try await imctl.run("send", "bob@example.org", "message \(number)", "--wait", "none")
      guard sent.status == 0 else { throw TestSupportError("nothing is queued: \(sent.errors)") }
    }
    guard try await imctl.run("agent", "stop").status == 0 else { throw TestSupportError("the agent stays") }
    try await eventually("the end of the agent") { try await imctl.processes().isEmpty }
  }

  /// How many messages of alice wait, as `status` says where no agent is running.
  static func queued(_ imctl: IMCTL) async throws -> Int? {
    let status = try await imctl.run("status", "-a", "alice@example.org", "--json")
    return try status.objects(SessionStatus.self).first?.queued
  }
}
