import FoundationEssentials
import TestSupport
import Testing

@Suite("imctl conversations")
struct ConversationsCommandTests {
  @Test(
    "The command conversations list needs no agent, creates no database, and refuses an unknown account."
  )
  func list() async throws {
    try await withIMCTL { imctl in
      #expect(try await imctl.run("conversations", "list").status == 78)
      #expect(try await imctl.run("conversations", "list", "-a", "alice@example.org").status == 78)
      try Accounts.write(Accounts.two, in: imctl)
      let variants: [[String]] = [
        [], ["-a", "Alice@example.org"], ["--timeout", "60"], ["--timeout", "0", "--json"],
      ]
      for options in variants {
        let result = try await imctl.run(["conversations", "list"] + options)
        #expect((result.output, result.errors, result.status) == ("", "", 0), "\(options)")
      }
      let unknown = try await imctl.run("conversations", "list", "-a", "nobody@example.org", "--json")
      #expect(unknown.status == 67 && unknown.errors.contains(#""name":"notLoggedIn""#))
      #expect(try await imctl.run("conversations", "list", "--timeout", "x").status == 64)
      #expect(try await imctl.run("conversations", "list", "--help").output.contains("(default: 10)"))
      #expect(try await imctl.processes().isEmpty)
      #expect(!FileManager.default.fileExists(atPath: imctl.home + "/.local/state/imctl/imctl.sqlite"))
    }
  }
}
