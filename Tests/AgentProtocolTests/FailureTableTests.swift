import AgentProtocol
import Testing

@Suite struct FailureTableTests {
  /// Name, seed codes, exit status, retry, what is cleared.
  private static let expected: [(String, [Int], Int32, FailureTable.Retry, FailureTable.Clears)] = [
    ("invalidParameter", [414, 33003], 64, .fatal, .nothing),
    ("notLoggedIn", [], 67, .fatal, .nothing),
    ("firstLoginNeedsNetwork", [], 67, .fatal, .nothing),
    ("unknownDomain", [8], 68, .automatic, .nothing),
    ("serviceGone", [31008], 69, .fatal, .nothing),
    ("connectionRefused", [61], 69, .automatic, .nothing),
    ("mechanismUnavailable", [], 69, .fatal, .nothing),
    ("agentUnreachable", [], 69, .fatal, .nothing),
    ("internalError", [], 70, .fatal, .nothing),
    ("tlsFailure", [], 71, .fatal, .nothing),
    ("databaseError", [33002], 73, .fatal, .nothing),
    ("outputFailed", [], 73, .fatal, .nothing),
    ("stanzaError", [], 74, .fatal, .nothing),
    ("networkError", [], 75, .again, .nothing),
    ("connectTimeout", [34006], 75, .again, .nothing),
    ("retriesExhausted", [], 75, .again, .nothing),
    ("alreadyRunning", [], 75, .again, .nothing),
    ("protocolError", [], 76, .fatal, .nothing),
    ("downgrade", [], 76, .fatal, .nothing),
    ("authFailed", [302, 31004], 77, .fatal, .secret),
    ("tokenIncorrect", [31004], 77, .freshToken, .secret),
    ("invalidToken", [31004], 77, .freshToken, .secret),
    ("clientRejected", [302], 77, .fatal, .secret),
    ("credentialSourceFailed", [], 77, .fatal, .nothing),
    ("notInitialized", [33001], 78, .fatal, .nothing),
    ("tokenExpired", [31020], 79, .freshToken, .token),
    ("sessionExpired", [31020], 79, .freshToken, .token),
    ("kicked", [31010, 206], 80, .stop, .isLogin),
    ("otherDeviceLogin", [31023], 81, .stop, .nothing),
    ("loginForbidden", [403], 82, .fatal, .secret),
    ("userBlocked", [31009], 82, .fatal, .secret),
    ("proxyUnavailable", [31028], 83, .automatic, .nothing),
    ("deviceChanged", [417], 84, .fatal, .token),
    ("tooManyDevices", [214], 85, .later, .nothing),
    ("rateLimited", [], 86, .after, .nothing),
    ("deliveryUnconfirmed", [], 87, .fatal, .nothing),
    ("cancelled", [], 130, .fatal, .nothing),
  ]

  @Test(
    "The table has every failure once with its codes, exit status, retry class and the credentials that it clears."
  )
  func total() throws {
    #expect(FailureTable.rows.map(\.name.rawValue).sorted() == Self.expected.map(\.0).sorted())
    for (name, codes, exit, retry, clears) in Self.expected {
      let row = try #require(FailureTable[Failure.Name(rawValue: name)], "\(name)")
      #expect(row.codes == codes, "\(name)")
      #expect(row.exit == exit, "\(name)")
      #expect(row.retry == retry, "\(name)")
      #expect(row.clears == clears, "\(name)")
    }
  }

  @Test("Each name in the table is unique, and so is each text in each language.")
  func unique() {
    let rows = FailureTable.rows
    #expect(Set(rows.map(\.name)).count == rows.count)
    for language in Language.allCases {
      #expect(Set(rows.map { $0.text(language).message }).count == rows.count)
    }
  }

  @Test(
    "Every text and every hint in the table exists in English and in Chinese.",
    arguments: FailureTable.rows.map(\.name))
  func bothLanguages(name: Failure.Name) throws {
    let row = try #require(FailureTable[name])
    for text in [row.text(.english).message, row.text(.english).hint] {
      #expect(!text.isEmpty && text.unicodeScalars.allSatisfy(\.isASCII))
    }
    for text in [row.text(.chinese).message, row.text(.chinese).hint] {
      #expect(text.unicodeScalars.contains { $0.properties.isIdeographic })
    }
  }

  @Test("A credential command is the user's mistake if it cannot be run, but not if it prints nothing.")
  func credentialSource() {
    #expect(Failure(.credentialSourceFailed, stage: .input).exit == 64)
    #expect(Failure(.credentialSourceFailed, stage: .authenticate).exit == 77)
  }

  @Test("A login by hand is retried only for a failure in which the user would want to wait.")
  func retries() {
    func retries(_ name: Failure.Name, automatic: Bool) -> Bool? {
      FailureTable[name]?.retry.retries(automatic: automatic)
    }
    #expect(retries(.networkError, automatic: false) == true)
    #expect(retries(.connectionRefused, automatic: false) == false)
    #expect(retries(.connectionRefused, automatic: true) == true)
    #expect(retries(.tooManyDevices, automatic: true) == true)
    #expect(retries(.rateLimited, automatic: false) == true)
    #expect(retries(.authFailed, automatic: true) == false)
    #expect(retries(.kicked, automatic: true) == false)
  }
}
