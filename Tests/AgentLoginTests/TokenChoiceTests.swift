import AgentProtocol
import Testing
import XMPPSASL

@testable import AgentLogin
@testable import AgentStore

@Suite struct TokenChoiceTests {
  typealias Token = TokenChoice.Answer<IssuedToken>
  typealias Extension = TokenChoice.Answer<String>

  private static let dynamic = IssuedToken(token: Secret("dynamic"))
  private static let given = IssuedToken(token: Secret("given"))
  private static let tokens: [Token] = [.none, .empty, .value(dynamic)]
  private static let extensions: [Extension] = [.none, .empty, .value("dynamic")]

  @Test(
    "A token login uses the token of the command, or else the given one, and sends nothing without either."
  )
  func token() {
    for token in Self.tokens {
      for given in [nil, Self.given] {
        let choice = TokenChoice(
          token: token, given: given, extension: .none, givenExtension: nil, extensionSuffices: false)
        switch (token, given) {
        case (.value, _): #expect(choice?.token == Self.dynamic && choice?.isFallback == false)
        case (.none, .some): #expect(choice?.token == Self.given && choice?.isFallback == false)
        case (.empty, .some): #expect(choice?.token == Self.given && choice?.isFallback == true)
        case (_, nil): #expect(choice == nil)
        }
      }
    }
  }

  @Test("The login extension of a command takes precedence over the given one, unless it is empty.")
  func loginExtension() {
    for answer in Self.extensions + [.value("")] {
      for given in [nil, "", "given"] {
        let choice = TokenChoice(
          token: .none, given: Self.given, extension: answer, givenExtension: given, extensionSuffices: false)
        let expected = answer == .value("dynamic") ? "dynamic" : given == "given" ? "given" : nil
        #expect(choice?.loginExtension == expected && choice?.isFallback == false)
      }
    }
  }

  @Test(
    "A third-party login needs a token or an extension, and the given ones are used if a command prints none."
  )
  func thirdParty() {
    var cases = 0
    for token in Self.tokens {
      for ext in Self.extensions {
        for givenToken in [nil, Self.given] {
          for givenExtension in [nil, "given"] {
            cases += 1
            let choice = TokenChoice(
              token: token, given: givenToken, extension: ext, givenExtension: givenExtension,
              extensionSuffices: true)
            let hasToken = token == .value(Self.dynamic) || givenToken != nil
            let hasExtension = ext == .value("dynamic") || givenExtension != nil
            #expect((choice != nil) == (hasToken || hasExtension))
            guard let choice else { continue }
            #expect(choice.token == (token == .value(Self.dynamic) ? Self.dynamic : givenToken))
            #expect(choice.loginExtension == (ext == .value("dynamic") ? "dynamic" : givenExtension))
            let answered = token == .value(Self.dynamic) || ext == .value("dynamic")
            let asked = token != .none || ext != .none
            #expect(choice.isFallback == (asked && !answered))
          }
        }
      }
    }
    #expect(cases == 36)
  }

  @Test("A login extension has at most 1024 UTF-16 units, and an emoji counts as two.")
  func length() throws {
    try LoginPlan.check(loginExtension: String(repeating: "é", count: 1024))
    try LoginPlan.check(loginExtension: String(repeating: "🙂", count: 512))
    for text in [String(repeating: "a", count: 1025), String(repeating: "🙂", count: 512) + "a"] {
      do throws(Failure) {
        try LoginPlan.check(loginExtension: text)
        Issue.record("accepted")
      } catch {
        #expect(error.name == .invalidParameter && error.code == 414 && error.exit == 64)
      }
    }
  }
}
