import AgentProtocol
import FoundationEssentials
import Testing

@Suite struct FailureTests {
  @Test("The text of a failure says which stage failed, what the server said and what to do next.")
  func text() {
    let failure = Failure(
      .authFailed, stage: .authenticate, condition: "not-authorized", text: "No such user")
    let english = failure.localized(.english)
    #expect(
      english.message
        == "authentication: wrong user or password; the server said: not-authorized: No such user")
    #expect(english.hint == "Check JID and password, then log in again: imctl login JID")
    let chinese = failure.localized(.chinese)
    #expect(chinese.message == "认证：用户名或密码错误；服务器说：not-authorized: No such user")
    #expect(chinese.hint == "请检查 JID 和密码后重新登录：imctl login JID")
  }

  @Test(
    "The four main causes of a failed login have their texts in English and in Chinese.",
    arguments: [
      (Failure.Name.authFailed, "wrong user or password", "用户名或密码错误"),
      (.networkError, "network problem", "网络有问题"),
      (.connectionRefused, "the server refuses the connection; it may not be running", "服务器拒绝连接，可能没有运行"),
      (.unknownDomain, "the domain is unknown or wrong", "域名未知或错误"),
    ])
  func fourTexts(name: Failure.Name, english: String, chinese: String) {
    let failure = Failure(name, stage: .connect, detail: .text("example.org"))
    #expect(failure.localized(.english).message == "connection: \(english) (example.org)")
    #expect(failure.localized(.chinese).message == "连接：\(chinese)（example.org）")
  }

  @Test(
    "A detail is translated into both languages, and a text from elsewhere is left unchanged.",
    arguments: [
      (.login(.segments, 2), "it has 2 segments; a JWT has 3", "它有 2 段，JWT 应有 3 段"),
      (.login(.headerSyntax), "its header is not a JSON object", "其头部不是 JSON 对象"),
      (
        .request(.accountExists), "this account exists already: choose another name",
        "该账号已存在：请换一个名称"
      ),
      (
        .about("pass", FailureDetail.about(FailureDetail.login(.exitStatus, 2), "exit status 3")),
        "pass: exit status 2: exit status 3", "pass：退出状态 2：exit status 3"
      ),
      (
        .session(.noAnswer, FailureDetail.seconds(0.26)), "no answer within 0.3 s", "0.3 秒内没有应答"
      ),
      (.text("no answer within 1 s"), "no answer within 1 s", "no answer within 1 s"),
      (.usage(.formSyntax, "{1}"), "--form takes name=value, not {1}", "--form 的格式为 名称=值，而不是 {1}"),
      (
        .session(
          .noLoginAfter, FailureDetail.seconds(9),
          FailureDetail.failure(Failure(.connectTimeout, stage: .tls, detail: .text("[::1]:1")))),
        "no login within 9 s; the last attempt: TLS: no answer in time ([::1]:1)",
        "9 秒内没有登录成功；最后一次尝试：TLS：连接超时（[::1]:1）"
      ),
    ] as [(FailureDetail, String, String)])
  func detail(detail: FailureDetail, english: String, chinese: String) {
    let failure = Failure(.invalidToken, stage: .authenticate, detail: detail)
    #expect(failure.localized(.english).message.hasSuffix(" (\(english))"))
    #expect(failure.localized(.chinese).message.hasSuffix("（\(chinese)）"))
  }

  @Test("Time limits are shown to a tenth of a second.")
  func seconds() {
    #expect(Failure.seconds(29.984) == "30 s" && Failure.seconds(0.26) == "0.3 s")
  }

  @Test("The message of an input error names no stage.")
  func input() {
    #expect(
      Failure(.invalidParameter, stage: .input, detail: .text("--port 0")).localized(.english).message
        == "invalid parameter (--port 0)")
  }

  @Test("The JSON object of a failure has the documented fields and the rendered texts.")
  func json() throws {
    let failure = Failure(.connectionRefused, stage: .connect, detail: .text("127.0.0.1:5222"))
    let object = try Fields(RPC.line(failure))
    #expect(object["name"] == "connectionRefused")
    #expect(object["code"] == "61")
    #expect(object["codes"] == "[61]")
    #expect(object["exit"] == "69")
    #expect(object["stage"] == "connect")
    #expect(object["retryable"] == "true")
    #expect(object["message"] == failure.message)
    #expect(object["hint"] == failure.hint)
    #expect(object["detail"] == "127.0.0.1:5222")
    #expect(RPC.line(failure).contains(#""condition":null"#) && RPC.line(failure).contains(#""text":null"#))
  }

  @Test(
    "Every failure is unchanged after its way through the socket.", arguments: FailureTable.rows.map(\.name))
  func roundTrip(name: Failure.Name) throws {
    for stage in Failure.Stage.allCases {
      let failure = Failure(name, stage: stage, detail: .text("d"), condition: "c", text: "t")
      let line = RPC.line(failure)
      #expect(try JSONDecoder().decode(Failure.self, from: Data(line.utf8)) == failure)
    }
  }

  @Test("A failure that only a later agent knows keeps its texts and leads to exit status 70.")
  func foreign() throws {
    let json = #"{"name":"teapot","stage":"brewing","message":"short and stout","hint":"tip me"}"#
    let failure = try JSONDecoder().decode(Failure.self, from: Data(json.utf8))
    #expect(failure.name.rawValue == "teapot")
    #expect(failure.stage == .request)
    #expect(failure.exit == 70)
    #expect(failure.message == "short and stout")
    #expect(failure.hint == "tip me")
    #expect(!failure.retryable)
  }

  @Test("The text that a server has sent is truncated.")
  func bounded() {
    let failure = Failure(.serviceGone, stage: .stream, text: String(repeating: "x", count: 1_000_000))
    #expect(failure.text?.count == Failure.maximumText)
    #expect(Failure(.serviceGone, stage: .stream, text: "").text == nil)
  }
}

/// The fields of a JSON object as text.
struct Fields: Decodable {
  private var fields: [String: String] = [:]

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(_ line: String) throws { self = try JSONDecoder().decode(Fields.self, from: Data(line.utf8)) }

  init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    for key in object.allKeys {
      if let text = try? object.decode(String.self, forKey: key) {
        fields[key.stringValue] = text
      } else if let bool = try? object.decode(Bool.self, forKey: key) {
        fields[key.stringValue] = "\(bool)"
      } else if let number = try? object.decode(Int.self, forKey: key) {
        fields[key.stringValue] = "\(number)"
      } else if let numbers = try? object.decode([Int].self, forKey: key) {
        fields[key.stringValue] = "\(numbers)"
      } else {
        fields[key.stringValue] = "object"
      }
    }
  }

  subscript(_ key: String) -> String? { fields[key] }
  var keys: Set<String> { Set(fields.keys) }
}
