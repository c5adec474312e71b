import AgentProtocol
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Contacts", .serialized, .timeLimit(.minutes(10)))
struct ContactTests {
  @Test(
    "A contact is added, accepts, shows presence, is renamed and regrouped, and is removed.",
    arguments: TestServer.Kind.allCases)
  func added(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    try await user.goOnline()
    let watch = try await user.watch("contact")
    #expect(try await user.contacts("list", "--json").output == "")
    let add = try await user.contacts(
      "add", bob.bareJID, "--name", "Bob \u{202e}x", "--group", "work", "--message", "it is me")
    #expect(add.status == 0, "\(add)")
    let asked = try #require(try await user.contact(bob))
    #expect(asked.ask == "subscribe" && asked.subscription == "none" && asked.groups == ["work"])
    #expect(asked.name == "Bob \u{202e}x" && !asked.stale && asked.presence.isEmpty)
    try await bob.gets(user) { $0.type == "subscribe" }
    try bob.send(xml: "<presence to='\(user.jid)' type='subscribed'/>")
    try await eventually("the presence") { try await user.listed(bob)?.presence.isEmpty == false }
    try bob.show("away", status: "lunch")
    try await eventually("away") {
      try await user.listed(bob)?.presence.first.map { $0.show == .away && $0.status == "lunch" } ?? false
    }
    let seen = try #require(try await user.contact(bob))
    #expect(seen.subscription == "to" && seen.ask == nil)
    #expect(seen.presence.first?.resource.map { bob.jid.hasSuffix("/" + $0) } == true)
    // As text, nothing of it reaches the terminal as a control.
    let text = try await user.contacts("list", "--online", "--group", "work").output
    #expect(text.hasPrefix("Bob \\u{202e}x\t\(bob.bareJID)\tto\twork\t"), "\(text)")
    #expect(text.contains(#"away "lunch""#) && !text.contains("\u{202e}"))
    #expect(try await user.contacts("list", "--group", "other").output == "")

    #expect(try await user.contacts("rename", bob.bareJID, "Robert").status == 0)
    #expect(try await user.contacts("group", bob.bareJID, "--add", "home", "--remove", "work").status == 0)
    let renamed = try #require(try await user.contact(bob))
    #expect(renamed.name == "Robert" && renamed.groups == ["home"])
    #expect(try await user.contacts("group", bob.bareJID, "a", "b").status == 0)
    #expect(try await user.contact(bob)?.groups.sorted() == ["a", "b"])
    #expect(try await user.contacts("group", bob.bareJID, "--clear").status == 0)
    #expect(try await user.contacts("rename", bob.bareJID).status == 0)
    let plain = try #require(try await user.contact(bob))
    #expect(plain.name == nil && plain.groups == [] && plain.subscription == "to")
    #expect(try await user.contacts("rename", bob.bareJID, "--json").output.contains(#""action":null"#))

    #expect(try await user.contacts("remove", bob.bareJID).status == 0)
    #expect(try await user.contact(bob) == nil)
    try await bob.gets(user) { $0.type == "unsubscribe" }
    try await watch.contacts { $0.last == "remove self" }
    let told = try watch.contactEvents.map { "\($0.action.rawValue) \($0.by?.rawValue ?? "?")" }
    #expect(
      told.filter { $0.hasPrefix("add") || $0.hasPrefix("subscribe ") } == ["add self", "subscribe self"])
    #expect(told.filter { $0.hasPrefix("subscribed") } == ["subscribed contact"])
    #expect(told.count { $0 == "update self" } == 5, "\(told)")
    // What was told is told again, and nothing else.
    let first = try #require(try watch.events().first)
    let again = try await user.imctl.start(
      ["watch", "--json", "--events", "contact", "--since", String(first.cursor)])
    try await again.contacts { $0.last == "remove self" }
    #expect(try again.events() == Array(try watch.events().dropFirst()))
    watch.send(SIGINT)
    again.send(SIGINT)
    let nobody = try await user.contacts("rename", "nobody@\(TestServer.domain)", "x", "--json")
    #expect(nobody.status == 64)
    #expect(try nobody.error.name == "invalidParameter")
    try await user.imctl.end()
  }

  @Test(
    "A contact request is listed once, survives a restart of the agent, and is approved or denied.",
    arguments: TestServer.Kind.allCases)
  func requests(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    let carol = try await Village.counterpart(kind, "carol")
    try await user.goOnline()
    let watch = try await user.watch("contact")
    for _ in 0..<2 {
      try bob.send(
        xml: "<presence to='\(user.jid)' type='subscribe'><status>please\u{202e}</status></presence>")
      try await bob.settled()
    }
    try carol.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    try await watch.contacts { $0.count { $0 == "request contact" } == 2 }
    let requests = try await user.requests()
    #expect(requests.map(\.jid) == [bob.bareJID, carol.bareJID])
    #expect(requests.allSatisfy { !$0.stale })
    let text = try await user.contacts("requests").output
    #expect(text.split(separator: "\n").count == 2 && !text.contains("\u{202e}"))
    watch.send(SIGINT)
    kill(try await user.agent(), SIGKILL)
    try await user.agentEnded()
    // Without an agent they are told from the store.
    let stored = try await user.contacts("requests")
    #expect(stored.errors.contains("not online") && stored.output.split(separator: "\n").count == 2)
    #expect(try await user.requests().map(\.stale) == [true, true])
    try await user.goOnline()
    #expect(try await user.requests().map(\.jid) == [bob.bareJID, carol.bareJID])

    #expect(try await user.contacts("approve", bob.bareJID).status == 0)
    try await bob.gets(user) { $0.type == "subscribed" }
    try await bob.gets(user) { $0.type == "available" }
    #expect(try await user.contact(bob)?.subscription == "from")
    #expect(try await user.contacts("deny", carol.bareJID).status == 0)
    try await carol.gets(user) { $0.type == "unsubscribed" }
    #expect(try await user.requests() == [])
    try await carol.settled()
    #expect(!carol.all(of: user).contains { $0.type == "available" })
    // What was let is taken back.
    #expect(try await user.contacts("deny", bob.bareJID).status == 0)
    try await bob.gets(user) { $0.type == "unsubscribed" }
    #expect(try await user.contact(bob)?.subscription != "from")
    #expect(try await user.contacts("deny", carol.bareJID).status == 64)
    try await user.imctl.end()
  }

  @Test(
    "A contact is approved before it has asked, where the server supports this.",
    arguments: TestServer.Kind.allCases)
  func preApproved(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    try await user.goOnline()
    let result = try await user.contacts("approve", bob.bareJID, "--json")
    guard kind.isProsody else {
      #expect(result.status == 64)
      #expect(try result.error.message.contains("does not support pre-approval"))
      return
    }
    #expect(result.output == #"{"action":"approve","jid":"\#(bob.bareJID)"}"# + "\n", "\(result)")
    #expect(try await user.contact(bob)?.subscription == "none")
    try bob.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    try await bob.gets(user) { $0.type == "subscribed" }
    #expect(try await user.requests() == [])
    try await eventually("from") { try await user.listed(bob)?.subscription == "from" }
    try await user.imctl.end()
  }

  @Test(
    "Messages of a blocked contact do not arrive until it is unblocked, and other devices learn of the change.",
    arguments: TestServer.Kind.allCases)
  func blocked(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    let other = try await user.otherDevice()
    try await user.goOnline()
    let login = try await other.login()
    #expect(login.status == 0)
    let watch = try await other.watch("contact,message")
    let own = try await user.watch("contact")
    #expect(try await user.contacts("block", bob.bareJID, "spam.example").status == 0)
    #expect(try await user.contacts("blocked").output == "\(bob.bareJID)\nspam.example\n")
    try bob.send("blocked", to: user.jid)
    try await bob.settled()
    #expect(try await user.contacts("unblock", bob.bareJID).status == 0)
    try bob.send("heard", to: user.jid)
    try await watch.messages(1)
    #expect(try watch.events().compactMap(\.message).map(\.body) == ["heard"])
    #expect(try await user.contacts("unblock", "--all").status == 0)
    #expect(try await user.contacts("blocked").output == "")
    try await watch.contacts { $0.count == 4 }
    #expect(
      try watch.contactEvents.map { "\($0.action.rawValue) \($0.jid) \($0.by?.rawValue ?? "?")" } == [
        "ban \(bob.bareJID) other-device", "ban spam.example other-device",
        "allow \(bob.bareJID) other-device", "allow spam.example other-device",
      ])
    try await own.contacts { $0.count == 4 }
    #expect(try own.contactEvents.allSatisfy { $0.by == .own })
    watch.send(SIGINT)
    own.send(SIGINT)
    try await other.imctl.end()
    try await user.imctl.end()
  }

  @Test(
    "A change of contacts by another device is reported as such, and a roster push of a stranger is ignored.",
    arguments: TestServer.Kind.allCases)
  func otherDevice(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    let other = try await user.otherDevice()
    try await user.goOnline()
    let login = try await other.login()
    #expect(login.status == 0)
    let watch = try await user.watch("contact")
    try bob.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    try await watch.contacts { $0 == ["request contact"] }
    let full = try #require(try await user.status().fullJID)
    try bob.send(
      xml: "<iq type='set' id='f' to='\(full)'><query xmlns='jabber:iq:roster'>"
        + "<item jid='evil@evil.example' subscription='both'/></query></iq>"
        + "<iq type='set' id='g' to='\(full)'><block xmlns='urn:xmpp:blocking'>"
        + "<item jid='\(bob.bareJID)'/></block></iq>")
    try await bob.settled()
    #expect(try await other.contacts("approve", bob.bareJID).status == 0)
    #expect(try await other.contacts("add", "carol@\(TestServer.domain)", "--no-request").status == 0)
    #expect(try await other.contacts("remove", "carol@\(TestServer.domain)").status == 0)
    try await watch.contacts { $0.last == "remove other-device" }
    let told = try watch.contactEvents.map { "\($0.action.rawValue) \($0.by?.rawValue ?? "?")" }
    #expect(
      told.filter { !$0.hasPrefix("update") } == [
        "request contact", "add other-device", "accept other-device", "add other-device",
        "remove other-device",
      ])
    #expect(try await user.requests() == [])
    #expect(try await user.contacts("list", "--json").objects(Contact.self).map(\.jid) == [bob.bareJID])
    #expect(try await user.contacts("blocked").output == "")
    watch.send(SIGINT)

    // Nothing has changed: the server sends nothing.
    #expect(try await user.imctl.run("logout").status == 0)
    let offline = try await user.contacts("list", "--json")
    let kept = try #require(try offline.objects(Contact.self).first)
    #expect(kept.stale && kept.jid == bob.bareJID && offline.errors == "")
    #expect(try await user.contacts("list").errors.contains("not online"))
    let change = try await user.contacts("remove", bob.bareJID, "--json")
    #expect(change.status == 67)
    #expect(try change.error.name == "notLoggedIn")
    let wire = try await user.imctl.run(
      ["login", user.jid, "--password-stdin", "-vv"] + user.connection, input: user.password
    ).errors.split(separator: "\n")
    let request = try #require(wire.first { $0.contains("jabber:iq:roster") && $0.contains("→") })
    #expect(request.contains("ver='") && !request.contains("ver=''"), "\(request)")
    #expect(!wire.contains { $0.contains("←") && $0.contains("jabber:iq:roster") })
    let now = try #require(try await user.contact(bob))
    #expect(!now.stale && now.subscription == "from")
    // What was changed meanwhile comes as pushes.
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await other.contacts("rename", bob.bareJID, "Bob").status == 0)
    try await user.goOnline()
    try await eventually("the name") { try await user.listed(bob)?.name == "Bob" }
    try await other.imctl.end()
    try await user.imctl.end()
  }

  @Test(
    "A contact request that another device has declined is no longer listed after the next login.",
    arguments: TestServer.Kind.allCases)
  func declinedElsewhere(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    let carol = try await Village.counterpart(kind, "carol")
    let other = try await user.otherDevice()
    try await user.goOnline()
    for counterpart in [bob, carol] {
      try counterpart.send(xml: "<presence to='\(user.jid)' type='subscribe'/>")
    }
    try await eventually("the requests") { try await user.listedRequests()?.count == 2 }
    #expect(try await user.imctl.run("logout").status == 0)
    let login = try await other.login()
    #expect(login.status == 0)
    try await eventually("the requests") { try await other.listedRequests()?.count == 2 }
    #expect(try await other.contacts("deny", bob.bareJID).status == 0)
    try await user.goOnline()
    try await eventually("the end of it") {
      try await user.listedRequests() == [carol.bareJID]
    }
    try await other.imctl.end()
    try await user.imctl.end()
  }
}

/// One server of each kind where nobody knows anybody, and counterparts who do only what they are told.
enum Village {
  private static let servers = Mutex([TestServer.Kind: Task<TestServer, any Error>]())
  private static let counterparts = Mutex([String: Task<Counterpart, any Error>]())

  static func server(_ kind: TestServer.Kind) async throws -> TestServer {
    try await servers.withLock { servers in
      let server =
        servers[kind]
        ?? Task {
          var options = Neighbourhood.options(kind)
          options.accounts["carol"] = "geheim"
          options.friends = []
          // Its groups take the version from every roster.
          if kind.isProsody { options.withoutModules = ["groups"] }
          return try await TestServer(options)
        }
      servers[kind] = server
      return server
    }.value
  }

  static func counterpart(_ kind: TestServer.Kind, _ name: String = "bob") async throws -> Counterpart {
    try await counterparts.withLock { counterparts in
      let key = "\(kind) \(name)"
      let counterpart =
        counterparts[key] ?? Task { try await Counterpart(name, on: server(kind), accepts: false) }
      counterparts[key] = counterpart
      return counterpart
    }.value
  }

  static func user(_ kind: TestServer.Kind) async throws -> (User, Counterpart) {
    (try await User(on: kind, server: server(kind)), try await counterpart(kind))
  }
}

extension Counterpart {
  var bareJID: String { String(jid.prefix { $0 != "/" }) }

  /// What it has seen of a user's account, oldest first.
  fileprivate func all(of user: User) -> [Presence] {
    presences.filter { $0.from.prefix { $0 != "/" } == user.jid }
  }

  /// Waits for a presence stanza of a user's account that matches, be it of a device or not.
  fileprivate func gets(_ user: User, where matches: @escaping @Sendable (Presence) -> Bool) async throws {
    let jid = user.jid
    try await presence { $0.from.prefix { $0 != "/" } == jid && matches($0) }
  }
}

extension User {
  /// `imctl contacts …`.
  fileprivate func contacts(_ words: String...) async throws -> IMCTL.Result {
    try await imctl.run(["contacts"] + words)
  }

  /// What the agent lists of somebody, for a test that waits for it.
  fileprivate func listed(_ counterpart: Counterpart) async throws -> Contact? {
    try await imctl.ask(ContactsListMethod.self, .init(account: jid))?.contacts
      .first { $0.jid == counterpart.bareJID }
  }

  /// Who waits for an answer to a request, as the agent lists them, for a test that waits for them.
  fileprivate func listedRequests() async throws -> [String]? {
    try await imctl.ask(ContactRequestsMethod.self, .init(account: jid))?.requests.map(\.jid)
  }

  /// What is listed of somebody.
  fileprivate func contact(_ counterpart: Counterpart) async throws -> Contact? {
    try await contacts("list", "--json").objects(Contact.self).first { $0.jid == counterpart.bareJID }
  }

  fileprivate func requests() async throws -> [ContactRequestsMethod.Entry] {
    try await contacts("requests", "--json").objects(ContactRequestsMethod.Entry.self)
  }

  /// The same account on another device.
  fileprivate func otherDevice() async throws -> User { User(self, imctl: try await IMCTL()) }
}

extension ChildProcess {
  fileprivate var contactEvents: [ContactEvent] {
    get throws {
      try events().compactMap { if case .contact(let contact) = $0.body { contact } else { nil } }
    }
  }

  /// Waits until something holds for the events of contacts, `add self` and the like.
  func contacts(_ holds: @escaping @Sendable ([String]) -> Bool) async throws {
    try await output.first("events of contacts") { _ in
      let told = try self.contactEvents.map { "\($0.action.rawValue) \($0.by?.rawValue ?? "?")" }
      return holds(told) ? () : nil
    }
  }
}
