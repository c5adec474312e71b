import AgentProtocol
import TestSupport
import Testing

/// What no ordinary server asks for or answers, to `imctl account register` as a user runs it.
@Suite("Registrations at servers with unusual forms", .timeLimit(.minutes(6)))
struct OddRegistrationTests {
  private static let asked = ScriptedServer.Step.client(
    "<iq type='get' id='{id}' to='\(TestServer.domain)'><query xmlns='jabber:iq:register'/></iq>")

  private static func form(_ content: String) -> [ScriptedServer.Step] {
    [ScriptedServer.Step].login(until: .mechanisms) + [
      asked,
      .server("<iq type='result' id='{id}'><query xmlns='jabber:iq:register'>\(content)</query></iq>"),
    ]
  }

  private static func data(_ fields: String) -> String {
    "<x xmlns='jabber:x:data' type='form'>\(fields)</x>"
  }

  private static func error(_ type: String, _ condition: String, _ text: String) -> String {
    "<iq type='error' id='{set}'><error type='\(type)'>"
      + "<\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
      + "<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>\(text)</text></error></iq>"
  }

  private static let submitted = ScriptedServer.Step.client(
    "<iq type='set' id='{set}' to='\(TestServer.domain)'><query xmlns='jabber:iq:register'>"
      + "<username>dora</username><password>geheim</password></query></iq>")

  private func arguments(_ server: ScriptedServer, _ options: [String]) async throws -> [String] {
    [
      "account", "register", "dora@\(TestServer.domain)", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile,
    ] + options
  }

  @Test(
    "A registration at a server with an unusual form explains its failure, and sends no password needlessly.",
    arguments: [
      (form("<password/>"), 76, "has no field username"),
      (form(""), 76, "has no field username"),
      (
        form("<x xmlns='jabber:x:oob'><url>https://im.example/join</url></x>"), 74,
        "the server wants you to register at https://im.example/join"
      ),
      (
        form("<username/><password/><email/><phone/>"), 64,
        "the server also requires: email, phone"
      ),
      (
        form(
          data(
            "<instructions>Look\u{9b}31m!</instructions><field var='username'/><field var='password'/>"
              + "<field var='captcha-fallback-url'><value>https://im.example/c</value></field>"
              + "<field var='ocr' label='What do you see?'><required/></field>")), 64,
        "the server says: Look\\x9b31m!\nimctl: the server says: https://im.example/c\n"
      ),
      (form(String(repeating: "<email/>", count: 300)), 76, "no usable registration form"),
      (
        form("<username/><password/>") + [submitted, .server(error("cancel", "conflict", "Taken"))], 74,
        "exists already"
      ),
      (
        form("<username/><password/>") + [
          submitted, .server(error("wait", "resource-constraint", "so quickly")),
        ], 86, "so quickly"
      ),
      (
        form("<username/><password/>") + [
          submitted, .server(error("modify", "not-acceptable", "too weak")),
        ], 74, "too weak"
      ),
      (form("<username/><password/>") + [submitted, .server("</stream:stream>")], 75, "closed the stream"),
      ([.header, .features("<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")], 71, "STARTTLS"),
    ])
  func failures(steps: [ScriptedServer.Step], status: Int32, text: String) async throws {
    let server = try await ScriptedServer(steps)
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      arguments(server, ["--password-stdin"]), input: "geheim\n")
    #expect((result.output, result.status) == ("", status))
    #expect(result.errors.contains(text), "\(result.errors)")
    #expect(!result.errors.contains("geheim"))
    #expect(!server.receivedInTheClear.contains("dora"))
    if status == 64 || status == 76 { #expect(!server.received.contains("geheim")) }
    #expect(try await imctl.run("account", "last").status == 78)
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "A registration on a terminal asks the user for the additional fields of the form.")
  func questions() async throws {
    let server = try await ScriptedServer(
      Self.form(
        Self.data(
          "<field type='hidden' var='FORM_TYPE'><value>jabber:iq:register</value></field>"
            + "<field var='username'><required/></field><field type='text-private' var='password'/>"
            + "<field var='email' label='E-mail'><required/></field>"
            + "<field type='text-private' var='pin' label='PIN'><required/></field>")) + [
          .client(
            "<iq type='set' id='{set}'><query xmlns='jabber:iq:register'>"
              + "<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'/>"
              + "<field var='username'><value>dora</value></field>"
              + "<field var='password'><value>geheim</value></field>"
              + "<field var='email'><value>d@im.example</value></field>"
              + "<field var='pin'><value>4711</value></field></x></query></iq>"),
          .server("<iq type='result' id='{set}'/>"),
          .client("</stream:stream>"), .server("</stream:stream>"),
        ])
    let imctl = try await IMCTL()
    let child = try await imctl.start(
      arguments(server, ["--password-command", "echo geheim"]), terminal: true)
    try await child.output.contains("E-mail: ")
    child.write("d@im.example\n")
    try await child.output.contains("PIN: ")
    child.write("4711\n")
    try await child.output.contains("dora@\(TestServer.domain) registered")
    _ = try await child.ended(within: .seconds(90))
    try await server.finished()
    #expect(!child.output.text.contains("4711"))
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "A registration at a silent server ends at its time limit, and reports the stage it reached."
  )
  func silence() async throws {
    let server = try await ScriptedServer([.header, .stall])
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      arguments(server, ["--password-stdin", "--timeout", "1", "--json"]), input: "geheim\n")
    #expect(result.status == 75)
    #expect(try result.error.stage == "stream")
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "A registration at Prosody sends the additional fields that the server asks for.",
    arguments: [TestServer.Kind.prosody, .prosody13])
  func furtherFields(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.registration = true
    options.extraLines = ["additional_registration_fields = { \"email+\" }"]
    let server = try await TestServer(options)
    let imctl = try await IMCTL()
    let arguments = [
      "account", "register", server.jid("dora"), "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", server.caFile,
    ]
    let lacking = try await imctl.run(arguments, input: "geheim\n")
    #expect(lacking.status == 64)
    #expect(lacking.errors.contains("the server also requires: email (Email)"))
    let unasked = try await imctl.run(arguments + ["--form", "phone=1"], input: "geheim\n")
    #expect(unasked.status == 64)
    let whole = try await imctl.run(arguments + ["--form", "email=d=a@im.example"], input: "geheim\n")
    #expect(whole.status == 0)
    #expect(try await imctl.run("login", "--password-stdin", input: "geheim\n").status == 0)
    try await imctl.end()
    try await server.end()
  }
}
