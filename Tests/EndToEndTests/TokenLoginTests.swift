import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A scripted server that takes tokens, and the command that prints them.
private final class TokenDesk: Sendable {
  let imctl: IMCTL
  let server: ScriptedServer
  static let jid = "alice@\(TestServer.domain)"

  init(_ scripts: [[ScriptedServer.Step]]) async throws {
    server = try await ScriptedServer(eachConnection: scripts)
    imctl = try await IMCTL()
  }

  /// A command that counts its calls and then does what `script` says; `$n` is the number of the call.
  func command(_ script: String) throws -> String {
    let path = imctl.home + "/issue"
    let text = "#!/bin/sh\necho call >> \(imctl.home)/calls\nn=$(wc -l < \(imctl.home)/calls)\n\(script)\n"
    try Data(text.utf8).write(to: URL(filePath: path))
    chmod(path, 0o700)
    return path
  }

  /// How often the command was called.
  var calls: Int {
    let text = try? String(contentsOf: URL(filePath: imctl.home + "/calls"), encoding: .utf8)
    return (text ?? "").split(separator: "\n").count
  }

  func login(_ options: String..., input: String = "") async throws -> IMCTL.Result {
    try await imctl.run(
      [
        "login", Self.jid, "--json", "--no-sync", "--host", TestServer.host, "--port", String(server.port),
        "--ca-file", try await TestAuthority.shared.caFile,
      ] + options, input: input)
  }

  /// PLAIN with a secret, and what comes of it.
  static func plain(_ secret: String, _ outcome: Outcome) -> [ScriptedServer.Step] {
    let response = Data("\0alice\0\(secret)".utf8).base64EncodedString()
    let request = ScriptedServer.Step.client(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(response)</auth>")
    let begin: [ScriptedServer.Step] = .login(until: .mechanisms, mechanisms: ["PLAIN"]) + [request]
    switch outcome {
    case .refused(let condition):
      return begin + [
        .server(
          "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><\(condition)/><text>no</text></failure>"),
        .client("</stream:stream>"), .close,
      ]
    case .lost: return begin + [.close]
    case .accepted:
      return begin + [
        .server("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>"), .header,
        .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"),
        .client("<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"),
        .server(
          "<iq type='result' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
            + "<jid>\(jid)/scripted</jid></bind></iq>"),
      ] + .synced + [
        .client("<presence type='unavailable'/>"), .client("</stream:stream>"),
        .server("</stream:stream>"),
      ]
    }
  }

  enum Outcome {
    case refused(String)
    case accepted, lost
  }

  static func token(_ claims: String) -> String {
    [#"{"alg":"HS256"}"#, claims, "signature"].map { JSONWebToken.encoded(Data($0.utf8)) }
      .joined(separator: ".")
  }
}

@Suite("Logins with a token", .serialized)
struct TokenLoginTests {
  @Test("A login whose token is refused asks the command for one fresh token, and then gives up.")
  func refused() async throws {
    let desk = try await TokenDesk([
      TokenDesk.plain("t1", .refused("not-authorized")), TokenDesk.plain("t2", .refused("not-authorized")),
    ])
    let result = try await desk.login("--auth", "token", "--token-command", desk.command("echo t$n"))
    #expect(result.status == 77)
    let error = try result.error
    #expect(error.name == "tokenIncorrect" && error.code == 31_004)
    #expect(desk.calls == 2 && desk.server.connections == 2)
    #expect(desk.server.mismatches == [])
  }

  @Test("A login does not try the same token twice, whether it was given or printed by the command.")
  func sameToken() async throws {
    for script in ["", "echo given"] {
      let desk = try await TokenDesk([TokenDesk.plain("given", .refused("not-authorized"))])
      let result = try await desk.login(
        "--auth", "token", "--token-stdin", "--token-command", desk.command(script), input: "given\n")
      #expect(result.status == 77)
      #expect(try result.error.name == "tokenIncorrect")
      #expect(desk.calls == 2 && desk.server.connections == 1)
      #expect(desk.server.mismatches == [])
    }
  }

  @Test(
    "A login succeeds with a fresh token after the first is refused, and a later login asks for another."
  )
  func fresh() async throws {
    let desk = try await TokenDesk([
      TokenDesk.plain("t1", .refused("credentials-expired")), TokenDesk.plain("t2", .accepted),
      TokenDesk.plain("t3", .accepted),
    ])
    let command = try desk.command("echo t$n")
    #expect(try await desk.login("--auth", "token", "--token-command", command).status == 0)
    try await eventually("its last question") { desk.server.received(connection: 2).contains("disco#info") }
    #expect(try await desk.imctl.run("logout").status == 0)
    // The kind is stored, and so is the command.
    let again = try await desk.imctl.run("login", TokenDesk.jid, "--no-sync")
    #expect(again.status == 0, "\(again.errors)")
    #expect(desk.calls == 3 && desk.server.mismatches == [])
    #expect(try await desk.imctl.run("logout").status == 0)
  }

  @Test("A login does not run the token command while the last token is known to be valid.")
  func stored() async throws {
    let desk = try await TokenDesk([TokenDesk.plain("t1", .accepted)])
    let command = try desk.command(#"echo "{\"token\":\"t$n\",\"expires\":\"2999-01-01T00:00:00Z\"}""#)
    #expect(try await desk.login("--auth", "jwt", "--token-command", command).status == 77)
    #expect(desk.calls == 2 && desk.server.connections == 0)
    #expect(
      try await desk.login(
        "--auth", "token", "--token-command",
        desk.command("n=1\n" + #"echo "{\"token\":\"t$n\",\"expires\":\"2999-01-01T00:00:00Z\"}""#)
      ).status == 0)
    #expect(desk.calls == 3)
    for _ in 0..<4 {
      #expect(try await desk.imctl.run("agent", "stop").status == 0)
      let login = try await desk.imctl.run("login", TokenDesk.jid, "--no-sync")
      #expect(login.status == 0, "\(login.errors)")
    }
    // An agent that is started begins the login of itself at times, before the one that it was started for.
    #expect(desk.calls == 3 && desk.server.connections >= 5)
    let shown = try await desk.imctl.run("token", "show")
    #expect(shown.output == "\(TokenDesk.jid)\tissued\ttoken\t\t2999-01-01 00:00\n")
    #expect(try await desk.imctl.run("token", "print").output == "t1\n")
    #expect(try await desk.imctl.run("logout").status == 0)
    // What the command has printed goes; the command is what is kept.
    #expect(try await desk.imctl.run("token", "show").status == 1)
    #expect(try await desk.imctl.run("token", "print").status == 67)
  }

  @Test("A login uses the given token while the token command prints none, and reports that with an event.")
  func fallback() async throws {
    let desk = try await TokenDesk([
      TokenDesk.plain("given", .lost), TokenDesk.plain("given", .lost), TokenDesk.plain("t3", .accepted),
    ])
    // Attempts with the given token are not counted: one retry is enough for three attempts.
    let result = try await desk.login(
      "--auth", "token", "--token-stdin", "--token-command", desk.command("[ $n -lt 3 ] || echo t$n"),
      "--timeout", "0", "--max-retries", "1", input: "given\n")
    #expect(result.status == 0, "\(result.errors)")
    let events = try result.objects(Event.self)
    let warnings = events.compactMap { event -> Failure? in
      if case .tokenUnavailable(let cause) = event.body { cause } else { nil }
    }
    #expect(warnings.map(\.code) == [414, 414])
    #expect(events.first?.name != "success" && desk.calls == 3 && desk.server.mismatches == [])
    #expect(try await desk.imctl.run("logout").status == 0)
  }

  @Test(
    "A login makes no connection if the token command fails or prints no token.",
    arguments: [
      ("", 64, "printed no token"), ("exit 3", 77, "exit status 3: why not"),
      ("echo 'not a token'", 77, "not a token: why not"),
      (#"echo '{"token":'"#, 77, "not the JSON object"), (#"printf '\377'"#, 77, "not UTF-8"),
      ("yes | head -c 10000000", 77, "65536 octets"), ("sleep 1000", 77, "no answer within"),
    ])
  func silentCommand(script: String, status: Int, reason: String) async throws {
    let desk = try await TokenDesk([[]])
    let command = try desk.command("echo first >&2\necho why not >&2\n" + script)
    let result = try await desk.login("--auth", "token", "--token-command", command, "--timeout", "3")
    #expect(Int(result.status) == status, "\(result.errors)")
    let error = try result.error
    #expect(error.name == "credentialSourceFailed")
    #expect(error.message.contains(reason), "\(error.message)")
    if status == 64 { #expect(error.code == 414) } else { #expect(error.message.contains("why not")) }
    #expect(desk.server.connections == 0)
    // Nothing is stored of a login that never was.
    #expect(!FileManager.default.fileExists(atPath: desk.imctl.home + "/.config/imctl/accounts.json"))
  }

  @Test("A login makes no connection if its JWT is malformed or expired.")
  func malformed() async throws {
    let desk = try await TokenDesk([[]])
    let double = Data(TokenDesk.token("{}").utf8).base64EncodedString()
    for (token, status, name, reason) in [
      ("abc", 77, "invalidToken", "1 segment"), ("a.b.c", 77, "invalidToken", "header"),
      (double, 77, "invalidToken", "base64-encoded once more"),
      (TokenDesk.token("[]"), 77, "invalidToken", "claims are not a JSON object"),
      (TokenDesk.token(#"{"exp":1000}"#), 79, "tokenExpired", "1970-01-01T00:16:40.000Z"),
    ] {
      let result = try await desk.login("--auth", "jwt", "--token-stdin", input: token)
      #expect(result.status == Int32(status))
      let error = try result.error
      #expect(error.name == name && error.message.contains(reason), "\(error.message)")
      #expect(try result.states == [.loginFailed])
      #expect(!(result.output + result.errors).contains(token))
    }
    #expect(desk.server.connections == 0)
  }

  @Test("A login strips the quotation marks, byte order mark and line break that editors add to a token.")
  func stripped() async throws {
    let token = TokenDesk.token(#"{"jid":"alice@im.example"}"#)
    let desk = try await TokenDesk([TokenDesk.plain(token, .accepted)])
    let result = try await desk.login("--auth", "jwt", "--token-stdin", input: "\u{FEFF}\"\(token)\"\r\n")
    #expect(result.status == 0, "\(result.errors)")
    #expect(desk.server.mismatches == [])
    #expect(try await desk.imctl.run("logout").status == 0)
  }

  @Test("A login without a JID uses the JID that the token command prints.")
  func printedJID() async throws {
    let desk = try await TokenDesk([
      TokenDesk.plain("t1", .refused("not-authorized")), TokenDesk.plain("t2", .accepted),
    ])
    let command = try desk.command(#"echo "{\"jid\":\"\#(TokenDesk.jid)\",\"token\":\"t$n\"}""#)
    let result = try await desk.imctl.run(
      "login", "--auth", "token", "--token-command", command, "--no-sync", "--host", TestServer.host,
      "--port", String(desk.server.port), "--ca-file", try await TestAuthority.shared.caFile)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.hasPrefix(TokenDesk.jid + "/"))
    #expect(desk.calls == 2 && desk.server.mismatches == [])
    #expect(try await desk.imctl.run("logout").status == 0)
  }

  @Test(
    "A refused third-party login fails with “authFailed”, and its token and extension are sent as one object."
  )
  func thirdParty() async throws {
    let packed = #"{"ext":"from the command","token":"t"}"#
    let desk = try await TokenDesk([TokenDesk.plain(packed, .refused("not-authorized"))])
    let result = try await desk.login(
      "--auth", "third-party", "--token-stdin", "--ext-in-password", "--login-ext", "given",
      "--login-ext-command", "echo from the command", input: "t")
    #expect(result.status == 77)
    let error = try result.error
    #expect(error.name == "authFailed" && error.code == 302 && error.message.contains("no"))
    #expect(desk.server.mismatches == [])
  }

  @Test("A login with --auth function sends its JSON document unchanged.")
  func function() async throws {
    let document = #"{"username":"alice","roles":[1,2]}"#
    let desk = try await TokenDesk([TokenDesk.plain(document, .accepted)])
    let result = try await desk.login("--auth", "function", "--payload-stdin", input: document + "\n")
    #expect(result.status == 0, "\(result.errors)")
    #expect(desk.server.mismatches == [])
    #expect(try await desk.imctl.run("logout").status == 0)
    for wrong in ["[]", "", "{", "x"] {
      let refused = try await desk.login("--auth", "function", "--payload-stdin", input: wrong)
      #expect(refused.status == 64)
    }
  }

  @Test("A login extension has at most 1024 UTF-16 units, whether it is given or printed by a command.")
  func loginExtension() async throws {
    let desk = try await TokenDesk([TokenDesk.plain("t", .accepted)])
    let long = String(repeating: "🙂", count: 512)
    for arguments in [
      ["--login-ext", long + "a"], ["--login-ext-command", "printf %1025s"],
    ] {
      let result = try await desk.imctl.run(
        [
          "login", TokenDesk.jid, "--json", "--auth", "token", "--token-stdin", "--host", TestServer.host,
          "--port", String(desk.server.port),
        ] + arguments, input: "t")
      #expect(result.status == 64)
      #expect(try result.error.name == "invalidParameter")
    }
    #expect(desk.server.connections == 0)
    let result = try await desk.imctl.run(
      [
        "login", TokenDesk.jid, "--no-sync", "--auth", "token", "--token-stdin", "--login-ext", long,
        "--host",
        TestServer.host, "--port", String(desk.server.port), "--ca-file",
        try await TestAuthority.shared.caFile,
      ], input: "t")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("the login extension was not sent"), "\(result.errors)")
    #expect(try await desk.imctl.run("logout").status == 0)
  }

  @Test("A login gives up after the number of retries that --max-retries allows.")
  func exhausted() async throws {
    let desk = try await TokenDesk([TokenDesk.plain("t", .lost)])
    let result = try await desk.login(
      "--auth", "token", "--token-stdin", "--timeout", "0", "--max-retries", "2", input: "t")
    #expect(result.status == 75)
    let error = try result.error
    #expect(error.name == "retriesExhausted" && error.message.contains("3 attempts"))
    #expect(try result.states.count { $0 == .linking } == 3)
  }

  @Test("A login whose mechanism the server does not offer names the mechanisms that it offers.")
  func unavailable() async throws {
    let script: [ScriptedServer.Step] = .login(until: .mechanisms, mechanisms: ["SCRAM-SHA-1", "PLAIN"])
    let server = try await ScriptedServer(script)
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      "login", TestServer.domain, "--auth", "anonymous", "--json", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile)
    #expect(result.status == 69)
    let error = try result.error
    #expect(error.name == "mechanismUnavailable")
    #expect(error.message.contains("SCRAM-SHA-1, PLAIN"), "\(error.message)")
    #expect(server.connections == 1)
  }
}
