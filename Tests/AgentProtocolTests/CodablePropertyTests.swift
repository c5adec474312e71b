import FoundationEssentials
import Testing

@testable import AgentProtocol

@Suite("Properties with a default and nullable properties") struct CodablePropertyTests {
  private struct Sample: Codable, Equatable {
    @Default<True> var flag: Bool
    @Default<Seconds<30>> var timeout: Double
    @Default<NoStrings> var words: [String]
    @Default<ConnectionOptions> var options: ConnectionOptions
    @Nullable var name: String?
    @Nullable var count: Int?
    var plain: Double?
  }

  private func decode(_ text: String) throws -> Sample {
    try JSONDecoder().decode(Sample.self, from: Data(text.utf8))
  }

  @Test(
    "A key that is absent or null gives the default of its property, or nil.",
    arguments: [
      "{}",
      #"{"flag":null,"timeout":null,"words":null,"options":null,"name":null,"count":null,"plain":null}"#,
    ])
  func absent(text: String) throws {
    let sample = try decode(text)
    #expect(sample == Sample())
    #expect(sample.flag && sample.timeout == 30 && sample.words.isEmpty)
    #expect(sample.name == nil && sample.count == nil && sample.plain == nil)
  }

  @Test("Properties that are present are read and written unchanged.")
  func present() throws {
    let text = #"""
      {"count":2,"flag":false,"name":"n","options":{"port":1},"plain":0.5,"timeout":1.5,"words":["a"]}
      """#
    let sample = try decode(text)
    #expect(!sample.flag && sample.timeout == 1.5 && sample.words == ["a"] && sample.options.port == 1)
    #expect(sample.name == "n" && sample.count == 2 && sample.plain == 0.5)
    #expect(RPC.line(sample) == text + "\n")
  }

  @Test("A default is written as a value, a nullable property as null, and a plain optional not at all.")
  func written() {
    #expect(
      RPC.line(Sample())
        == #"{"count":null,"flag":true,"name":null,"options":{},"timeout":30,"words":[]}"# + "\n")
  }

  @Test(
    "A value of the wrong type is an error that names its key.",
    arguments: [
      (#"{"timeout":1e400}"#, "timeout"), (#"{"count":1.5}"#, "count"), (#"{"plain":-1e999}"#, "plain"),
      (#"{"options":{"port":1e400}}"#, "options.port"), (#"{"flag":1}"#, "flag"), (#"{"name":1}"#, "name"),
      (#"{"words":"a"}"#, "words"), (#"{"count":18446744073709551616}"#, "count"),
    ])
  func wrong(text: String, path: String) {
    do {
      _ = try decode(text)
      Issue.record("accepted \(text)")
    } catch {
      #expect(
        error is DecodingError && RPC.describe(error).description.hasPrefix("\(path) "),
        "\(RPC.describe(error))")
    }
  }

  @Test("The number of retries of a login is unlimited or not negative.")
  func retries() throws {
    var login = LoginMethod.Parameters(account: "a@b")
    login.maxRetries = LoginMethod.unlimitedRetries
    try login.validate()
    login.maxRetries = LoginMethod.unlimitedRetries - 1
    #expect(throws: RPCError.invalidParameter("maxRetries")) { try login.validate() }
  }
}
