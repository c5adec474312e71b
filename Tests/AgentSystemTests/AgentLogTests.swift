import Logging
import TestSupport
import Testing

@testable import AgentSystem

@Suite struct AgentLogTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.path + "/agent.log" }

  init() throws { directory = try TemporaryDirectory() }

  @Test("A line of the log has time, level, label, message and metadata, and the file has mode 0600.")
  func line() throws {
    let log = AgentLog(path: path, limit: 1000)
    var logger = log.logger("agent")
    logger[metadataKey: "account"] = "a@b"
    logger.warning("lost", metadata: ["attempt": "3"])
    logger.debug("not shown")
    let text = try #require(contents(path))
    #expect(text.hasSuffix("Z warning agent: lost account=a@b attempt=3\n"))
    #expect(text.filter(\.isNewline) == "\n")
    #expect(mode(path) == 0o600)
  }

  @Test("The size of the log is limited, and one older file is kept.")
  func rotation() throws {
    let log = AgentLog(path: path, limit: 1000)
    for number in 0..<100 { log.append("\(number) " + String(repeating: "x", count: 100)) }
    let new = try #require(contents(path))
    let old = try #require(contents(path + ".1"))
    #expect(new.utf8.count <= 1000 && old.utf8.count <= 1000)
    #expect(new.contains("\n99 ") || new.hasPrefix("99 "))
    #expect(mode(path + ".1") == 0o600)
    // Another process goes on where this one stopped.
    AgentLog(path: path, limit: 1000).append("more")
    #expect(try #require(contents(path)).hasPrefix(new) || contents(path) == "more\n")
  }

  @Test("A text from a peer cannot forge a line or a colour in the log.")
  func neutralised() throws {
    AgentLog(path: path, limit: 100_000).append("a\nb\r\u{1B}[31m\u{9B}\u{202E}é\u{2028}")
    #expect(contents(path) == "a\\u{a}b\\u{d}\\u{1b}[31m\\u{9b}\\u{202e}é\\u{2028}\n")
  }

  @Test("A log that cannot be written does not stop the agent.")
  func unwritable() {
    AgentLog(path: directory.path + "/none/agent.log", limit: 1000).append("lost")
  }
}
