import AgentProtocol
import Testing

@Suite struct RPCTests {
  @Test("A request is read back as it was written.")
  func request() throws {
    var parameters = PresenceSetMethod.Parameters(account: "a@b", show: .dnd)
    parameters.status = "deploying\n\"now\""
    parameters.priority = -128
    parameters.duration = 0.5
    parameters.hold = true
    let line = RPC.request(PresenceSetMethod.self, id: .number(3), parameters)
    #expect(line.hasSuffix("}\n") && line.filter(\.isNewline) == "\n")
    let call = try RPCCall(line: line)
    #expect(call.id == .number(3))
    #expect(call.method == "presence.set")
    let read = try call.parameters(of: PresenceSetMethod.self)
    #expect(read.status == parameters.status)
    #expect(read.priority == -128)
    #expect(read.duration == 0.5)
    #expect(read.hold)
  }

  @Test("The outcomes of lines are sent as runs of equal outcomes and read back line by line.")
  func runs() throws {
    var call = MessageSendLinesMethod.Parameters(account: nil, id: "i", to: "b@c", text: "1\n2\n\n3\n4")
    call.type = "normal"
    call.subject = "s"
    call.thread = "t"
    let messages = call.messages.messages
    #expect(messages.map(\.body) == ["1", "2", "3", "4"])
    #expect(messages.map(\.id) == ["i.0", "i.1", "i.2", "i.3"])
    #expect(messages.allSatisfy { ($0.to, $0.type, $0.subject, $0.thread) == ("b@c", "normal", "s", "t") })
    let refusal = Failure(.stanzaError, stage: .request)
    let outcomes: MessageSendMethod.Result = [
      .init(id: "i.0", to: "b@c", state: .sent), .init(id: "i.1", to: "b@c", state: .sent),
      .init(id: "i.2", to: "b@c", state: .sent, error: refusal), .init(id: "i.3", to: "b@c", state: .queued),
    ]
    let runs = MessageSendLinesMethod.runs(of: outcomes)
    #expect(runs.map(\.count) == [2, 1, 1])
    #expect(call.outcomes(runs) == outcomes)
    // An agent does not make up lines without end.
    #expect(call.outcomes([.init(count: .max, state: .sent)]).count == MessageSendLinesMethod.maximumLines)
    #expect(call.outcomes([.init(count: -1, state: .sent)]).isEmpty)
  }

  @Test("Answers, errors and notifications are read back as they were written.")
  func replies() throws {
    let result = LogoutMethod.Result(accounts: ["a@b"])
    let answer = try RPCReply(line: RPC.answer(.string("x"), result))
    #expect(answer.id == .string("x") && answer.method == nil)
    #expect(try answer.result(of: LogoutMethod.self) == result)

    let failure = Failure(.kicked, stage: .stream, condition: "conflict")
    let refused = try RPCReply(line: RPC.answer(.number(1), RPCError(failure)))
    #expect(throws: RPCError(failure)) { try refused.result(of: LogoutMethod.self) }
    do {
      _ = try refused.result(of: LogoutMethod.self)
    } catch {
      #expect(error.failure == failure)
      #expect(error.code == RPCError.failed)
    }

    let event = Event(account: "a@b", time: "t", cursor: 1, body: .gap)
    let notification = try RPCReply(line: String(RPC.notification(event).dropLast()))
    #expect(notification.id == nil && notification.method == RPC.eventMethod)
    #expect(try notification.event() == event)
  }

  @Test(
    "The JSON of an event or item is passed on unchanged, and a failure differs from a text that quotes one."
  )
  func payload() throws {
    let quote = #"{"codes":[1]}"#
    let message = Event(
      account: "a@b", time: "t", cursor: 1,
      body: .message(MessageEvent(from: "c@d", to: "a@b", direction: .in, type: "chat", body: quote)))
    let told = try RPCReply(line: String(RPC.notification(message).dropLast()))
    #expect(told.payload + "\n" == RPC.line(message))
    #expect(!told.containsFailure)
    let item = try RPCReply(line: String(RPC.notification(item: message).dropLast()))
    #expect(item.method == RPC.itemMethod && item.payload == told.payload)
    let failed = Event(
      account: "a@b", time: "t", cursor: 2,
      body: .tokenUnavailable(cause: Failure(.credentialSourceFailed, stage: .authenticate)))
    #expect(try RPCReply(line: String(RPC.notification(failed).dropLast())).containsFailure)
    #expect(try RPCReply(line: RPC.answer(.number(1), EmptyObject())).payload.isEmpty)
  }

  @Test("An absent parameter has its default, and a method without parameters needs none.")
  func defaults() throws {
    let login = try RPCCall(line: #"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b"}}"#)
      .parameters(of: LoginMethod.self)
    #expect(login.timeout == 30 && !login.noSync && login.options == ConnectionOptions())
    let bare = try RPCCall(line: #"{"jsonrpc":"2.0","id":1,"method":"logout"}"#)
    let logout = try bare.parameters(of: LogoutMethod.self)
    #expect(logout.account == nil && !logout.all && logout.flush == 10)
    #expect(try bare.parameters(of: AgentStatusMethod.self) == EmptyObject())
  }

  @Test(
    "A line that is not JSON is a parse error.",
    arguments: ["", "{", "nul", "{\"a\":}", "}{", "\"", "{\"jsonrpc\":\"2.0\"", "{\0}\0", "\u{FEFF}x"])
  func parseError(line: String) {
    #expect(code(line) == RPCError.parseError)
  }

  @Test(
    "A line that is valid JSON but not a request is an invalid request.",
    arguments: [
      "[]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}]", "1", "\"x\"", "null", "true", "{}",
      #"{"jsonrpc":"1.0","id":1,"method":"x"}"#, #"{"jsonrpc":2.0,"id":1,"method":"x"}"#,
      #"{"jsonrpc":"2.0","id":1}"#, #"{"jsonrpc":"2.0","id":1,"method":5}"#,
      #"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, #"{"jsonrpc":"2.0","id":1e400,"method":"x"}"#,
      #"{"jsonrpc":"2.0","id":18446744073709551616,"method":"x"}"#,
      #"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
    ])
  func invalidRequest(line: String) {
    #expect(code(line) == RPCError.invalidRequest)
  }

  @Test("A request with excessive nesting is refused.")
  func nesting() {
    let depth = 100_000
    #expect(code(String(repeating: "[", count: depth)) == RPCError.parseError)
    #expect(code(String(repeating: "{\"a\":", count: depth)) == RPCError.parseError)
    let closed = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(code(#"{"jsonrpc":"2.0","id":1,"method":"x","params":"# + closed + "}") == RPCError.parseError)
  }

  @Test(
    "A parameter whose number or type is wrong is refused as invalid.",
    arguments: [
      #""priority":1.5"#, #""priority":1e400"#, #""priority":18446744073709551616"#, #""priority":"5""#,
      #""priority":-9223372036854775809"#, #""duration":1e400"#, #""duration":-1e999"#, #""duration":"NaN""#,
      #""duration":true"#, #""hold":1"#, #""hold":"true""#, #""show":"gone""#,
    ])
  func numbers(field: String) throws {
    let fields = field.hasPrefix("\"show\"") ? field : "\"show\":\"away\",\(field)"
    let call = try RPCCall(
      line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"presence.set\",\"params\":{\(fields)}}")
    do {
      _ = try call.parameters(of: PresenceSetMethod.self)
      Issue.record("accepted \(field)")
    } catch {
      #expect(error.code == RPCError.invalidParameters)
      #expect(error.failure.name == .invalidParameter)
      let name = field.split(separator: "\"").first.map(String.init) ?? ""
      #expect(error.message.hasPrefix("Invalid params: \(name) "))
    }
  }

  @Test(
    "Parameters that are missing, or are not an object, are refused as invalid.",
    arguments: ["[]", "[\"a@b\"]", "3", "{}", "null"])
  func shape(parameters: String) throws {
    let call = try RPCCall(
      line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"account.remove\",\"params\":\(parameters)}")
    do {
      _ = try call.parameters(of: AccountRemoveMethod.self)
      Issue.record("accepted \(parameters)")
    } catch {
      #expect(error.code == RPCError.invalidParameters)
    }
  }

  @Test("An error about a parameter names its field and never its value.")
  func secrets() throws {
    let call = try RPCCall(
      line:
        #"{"jsonrpc":"2.0","id":1,"method":"login","params":{"account":"a@b","password":{"x":"hunter2"}}}"#)
    do {
      _ = try call.parameters(of: LoginMethod.self)
      Issue.record("accepted")
    } catch {
      let line = RPC.answer(.number(1), error)
      #expect(line.contains("password") && !line.contains("hunter2"))
    }
  }

  private func code(_ line: String) -> Int? {
    do {
      _ = try RPCCall(line: line)
      return nil
    } catch {
      return error.code
    }
  }
}
