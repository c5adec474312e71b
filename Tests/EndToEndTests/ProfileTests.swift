import AgentProtocol
import TestSupport
import Testing

@Suite("Profiles", .serialized, .timeLimit(.minutes(6)))
struct ProfileTests {
  private func fields(_ result: IMCTL.Result) throws -> [String: String]? {
    try result.objects(Profile.self).first?.fields
  }

  @Test(
    "A profile is set field by field, and read by its owner and others with control characters escaped.",
    arguments: TestServer.Kind.allCases)
  func shared(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let other = try await User(on: kind)
    try await user.goOnline()
    try await other.goOnline()
    let imctl = user.imctl
    #expect(try fields(await imctl.run("profile", "get", "--json")) == [:])
    #expect(try await imctl.run("profile", "get").output == "")
    let set = try await imctl.run(
      "profile", "set", "name=Alice \u{202e}x", "email=alice@example.org", "title=one=1", "nickname=al",
      "--json")
    #expect(try fields(set)?["nickname"] == "al", "\(set)")
    #expect(try await imctl.run("profile", "set", "nickname=").output == "")
    let wanted = ["name": "Alice \u{202e}x", "email": "alice@example.org", "title": "one=1"]
    #expect(try fields(await imctl.run("profile", "get", "--json")) == wanted)
    // Prosody keeps cards in another format, which has no room for some fields.
    let note = try await imctl.run("profile", "set", "note=x")
    #expect(note.status == 0 && note.errors.contains("note") == kind.isProsody, "\(note)")
    #expect(try await imctl.run("profile", "set", "note=").errors == "")
    let seen = try await other.imctl.run("profile", "get", user.jid, "--json")
    #expect(try seen.objects(Profile.self).first?.jid == user.jid)
    #expect(try fields(seen) == wanted)
    let text = try await other.imctl.run("profile", "get", user.jid).output
    #expect(text.contains("email\talice@example.org") && !text.contains("\u{202e}"), "\(text)")
    let wrong = try await imctl.run("profile", "set", "shoe=44")
    #expect(wrong.status == 64 && wrong.errors.contains("nickname"))
    #expect(try await imctl.run("profile", "get", "@").status == 64)
    #expect(try await imctl.run("logout").status == 0)
    #expect(try await imctl.run("profile", "get").status == 67)
    try await imctl.end()
    try await other.imctl.end()
  }
}
