import FoundationEssentials
import Testing

@testable import AgentProtocol

@Suite("The detail of a failure")
struct FailureDetailTests {
  /// Every sentence, with arguments.
  static let all: [FailureDetail] = FailureDetail.Key.all.map { key in
    .sentence(key, key.sentence.places(.english).sorted().map { .text("argument \($0)") })
  }

  @Test("Every sentence has the same arguments in both languages, numbered from 1.")
  func places() {
    for key in FailureDetail.Key.all {
      let places = key.sentence.places(.english)
      #expect(places == key.sentence.places(.chinese), "\(key.name)")
      #expect(places == Set(1..<places.count + 1), "\(key.name)")
    }
  }

  @Test("Every sentence has a text of its own in English and in Chinese.")
  func bothLanguages() {
    for key in FailureDetail.Key.all {
      let (english, chinese) = (key.sentence.english, key.sentence.chinese)
      #expect(!english.isEmpty && english.unicodeScalars.allSatisfy(\.isASCII), "\(key.name)")
      #expect(english != chinese, "\(key.name)")
      // What only joins details has no words.
      let hasWords = english.contains { $0.isLetter } && key != .form(.seconds)
      #expect(!hasWords || chinese.unicodeScalars.contains { $0.properties.isIdeographic }, "\(key.name)")
    }
  }

  @Test("Arguments are inserted at their places, and placeholders inside them are left alone.")
  func arguments() {
    for detail in Self.all {
      guard case .sentence(let key, let arguments) = detail else { continue }
      for argument in arguments {
        for language in Language.allCases {
          #expect(detail.text(language).contains(argument.text(language)), "\(key.name)")
        }
      }
      #expect(!detail.text(.english).contains("{1}") && !detail.text(.chinese).contains("{1}"))
    }
    #expect(FailureDetail.about("{2}", "b").text(.english) == "{2}: b")
    #expect(
      FailureDetail.login(.outputSyntax).description == #"not the JSON object {"token","expires","jid"}"#)
  }

  @Test("Every sentence is found by the name of its key.")
  func names() {
    for key in FailureDetail.Key.all { #expect(FailureDetail.Key(name: key.name) == key) }
    #expect(FailureDetail.Key(name: "locked") == nil && FailureDetail.Key(name: "store.teapot") == nil)
  }

  @Test("Every detail is unchanged after its way through the socket.")
  func roundTrip() throws {
    let inner = Failure(.connectTimeout, stage: .tls, detail: .session(.noAnswer, FailureDetail.seconds(3)))
    let nested = FailureDetail.session(.noLoginAfter, FailureDetail.seconds(9), FailureDetail.failure(inner))
    for detail in Self.all + [.text("a text"), .about("p", FailureDetail.store(.locked)), nested] {
      let failure = Failure(.databaseError, stage: .store, detail: detail, condition: "c", text: "t")
      #expect(try Self.decode(RPC.report(failure)) == failure, "\(detail)")
    }
  }

  @Test(
    "An answer of the agent has the sentence and its arguments, and the output of `--json` only the English text."
  )
  func lines() throws {
    let detail = FailureDetail.about("/p", FailureDetail.store(.wrongValueAt, "a.b"))
    let failure = Failure(.databaseError, stage: .store, detail: detail)
    let text = #""detail":"/p: wrong value at a.b""#
    let sentence =
      #""sentence":{"arguments":["/p",{"arguments":["a.b"],"key":"store.wrongValueAt"}],"key":"form.about"}"#
    let answer = RPC.answer(.number(1), RPCError(failure))
    #expect(answer.contains(text) && answer.contains(sentence))
    #expect(RPC.line(failure).contains(text) && !RPC.line(failure).contains("sentence"))
    #expect(!RPC.report(Failure(.notLoggedIn, stage: .request, detail: .text("a@b"))).contains("sentence"))
  }

  @Test(
    "The failure of an agent of another version is shown with its English text.",
    arguments: [
      #"{"name":"databaseError","stage":"store","detail":"/p: locked by another process"}"#,
      """
      {"name":"databaseError","stage":"store","detail":"/p: locked by another process",
       "sentence":{"key":"form.about","arguments":["/p",{"key":"store.teapot"}]}}
      """,
      #"{"name":"databaseError","stage":"store","detail":"/p: locked by another process","sentence":7}"#,
    ])
  func otherVersion(json: String) throws {
    let failure = try Self.decode(json)
    #expect(failure.detail == .text("/p: locked by another process"))
    #expect(failure.localized(.chinese).message.hasSuffix("（/p: locked by another process）"))
  }

  @Test("A sentence with fewer arguments than places leaves the other places empty.")
  func missing() throws {
    let json = #"{"name":"databaseError","sentence":{"key":"form.about","arguments":["/p"]}}"#
    #expect(try Self.decode(json).detail?.text(.english) == "/p: ")
  }

  @Test("Each text of a detail is cut to a maximum length.")
  func bounded() {
    let long = String(repeating: "x", count: 10_000)
    let detail = Failure(.databaseError, stage: .store, detail: .about(long, "why")).detail
    #expect(detail?.text(.english).count == Failure.maximumText + ": why".count)
    #expect(Failure(.databaseError, stage: .store, detail: .text("")).detail == nil)
  }

  @Test("A detail mentions its own sentence and the sentences among its arguments.")
  func mentions() {
    let detail = FailureDetail.about("/p", FailureDetail.store(.locked))
    #expect(detail.mentions([.store(.locked)]) && detail.mentions([.form(.about), .store(.damaged)]))
    #expect(!detail.mentions([.store(.damaged)]) && !FailureDetail.text("x").mentions([.store(.locked)]))
  }

  private static func decode(_ json: String) throws -> Failure {
    try JSONDecoder().decode(Failure.self, from: Data(json.utf8))
  }
}
