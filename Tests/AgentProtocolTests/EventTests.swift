import AgentProtocol
import FoundationEssentials
import Testing

@Suite struct EventTests {
  private static let bodies: [Event.Body] = [
    .state(
      {
        var change = StateChange(state: .loginFailed, previous: .logining)
        change.cause = Failure(.authFailed, stage: .authenticate, condition: "not-authorized")
        change.attempt = 2
        change.retryIn = 1.5
        change.tls = TLSSummary(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
        return change
      }()),
    .state(
      {
        var change = StateChange(state: .syncOK, previous: .syncing)
        change.parts = SyncPart.allCases
        change.counts = [.roster: 2, .groups: 0]
        change.late = [.roaming]
        return change
      }()),
    .synced(SyncedPart(part: .offline, count: 800)),
    .synced(SyncedPart(part: .blocklist, count: nil)),
    .dataReady(code: 33002),
    .store(StoreChange(cause: Failure(.databaseError, stage: .store, detail: .text("full")), lost: ["1"])),
    .store(StoreChange(cause: nil)),
    .success(LoginSuccess(userId: "a@b", fullJID: "a@b/c", milliseconds: 12)),
    .presence(PresenceChange(from: "a@b/c", show: .away, status: "lunch", priority: -1)),
    .gap,
  ]

  @Test("Every event is one flat JSON object and is read back unchanged.", arguments: bodies)
  func roundTrip(body: Event.Body) throws {
    let event = Event(account: "a@b", time: "2026-11-21T02:42:13.123Z", cursor: 7, body: body)
    let line = RPC.line(event)
    let fields = try Fields(line)
    #expect(fields["event"] == event.name)
    #expect(fields["account"] == "a@b")
    #expect(fields["time"] == "2026-11-21T02:42:13.123Z")
    #expect(fields["cursor"] == "7")
    #expect(line.filter(\.isNewline) == "\n")
    #expect(try JSONDecoder().decode(Event.self, from: Data(line.utf8)) == event)
  }

  @Test("A presence without a status has a null status, and a state change leaves out what it does not know.")
  func absent() {
    let presence = Event.Body.presence(PresenceChange(from: "a@b", show: .xa, status: nil, priority: 0))
    #expect(
      RPC.line(Event(account: "a@b", time: "", cursor: 1, body: presence)).contains(#""status":null"#))
    let state = Event.Body.state(StateChange(state: .linking, previous: .offline))
    #expect(!RPC.line(Event(account: "a@b", time: "", cursor: 1, body: state)).contains("null"))
  }

  @Test("A synchronisation event names the parts that are synchronised.")
  func counts() {
    var change = StateChange(state: .syncOK, previous: .syncing)
    change.parts = [.roster, .roaming]
    change.counts = [.roster: 2]
    let line = RPC.line(Event(account: "a@b", time: "", cursor: 1, body: .state(change)))
    #expect(line.contains(#""parts":["roster","roaming"]"#) && line.contains(#""counts":{"roster":2}"#))
  }

  @Test("An event whose text contains a line break is still one line.")
  func newline() throws {
    let body = Event.Body.presence(PresenceChange(from: "a@b", show: .xa, status: "a\nb\r\n", priority: 0))
    let line = RPC.line(Event(account: "a@b", time: "", cursor: 1, body: body))
    #expect(line.utf8.filter { $0 == 0x0A }.count == 1)
  }

  @Test(
    "A message body is an action of its sender only if it begins with /me and a space.",
    arguments: [
      ("/me shrugs in disgust", "shrugs in disgust"), ("/me ", ""), ("/me", nil), (" /me x", nil),
      ("/meow", nil), ("//me x", nil), ("/ME x", nil), ("/me\u{a0}x", nil), ("*/me x*", nil), ("", nil),
      (nil, nil),
    ] as [(String?, String?)])
  func action(body: String?, action: String?) {
    let event = MessageEvent(from: nil, to: nil, direction: .in, type: "chat", body: body)
    #expect(event.action == action)
  }
}

@Suite struct TimestampTests {
  @Test("A timestamp is written in UTC with milliseconds and read back.")
  func text() throws {
    let date = Date(timeIntervalSince1970: 1_795_228_933.125)
    #expect(Timestamp.text(date) == "2026-11-21T02:42:13.125Z")
    let read = try #require(Timestamp.date("2026-11-21T02:42:13.125Z"))
    #expect(abs(read.timeIntervalSince(date)) < 0.001)
    #expect(Timestamp.date("yesterday") == nil)
  }
}
