import Testing

@testable import AgentProtocol

@Suite("The advice for a failure")
struct FailureAdviceTests {
  /// A failure that an advice is for.
  private static func example(_ advice: FailureAdvice, _ condition: String?) -> Failure {
    Failure(
      advice.name, stage: advice.stage ?? .request,
      detail: advice.details.first.map { .about("x", FailureDetail.sentence($0, [])) }, condition: condition)
  }

  /// Every failure there is: of the rows, and of each condition of the advice.
  private static let all: [Failure] =
    FailureTable.rows.map { Failure($0.name, stage: .request) }
    + FailureAdvice.all.flatMap { advice in
      advice.conditions.isEmpty
        ? [example(advice, nil)] : advice.conditions.sorted().map { example(advice, $0) }
    }

  @Test("Every row of the advice table is reached, and none is hidden by an earlier row.")
  func reached() {
    for advice in FailureAdvice.all {
      for condition in advice.conditions.isEmpty ? [nil] : advice.conditions.map(Optional.some) {
        let failure = Self.example(advice, condition)
        #expect(failure.localized(.english).hint == advice.hint.english, "\(failure)")
        if let message = advice.message {
          #expect(failure.localized(.english).message.contains(message.english), "\(failure)")
        }
      }
    }
  }

  @Test("Every message and every hint of the advice table exists in English and in Chinese.")
  func bothLanguages() throws {
    for advice in FailureAdvice.all {
      for text in [advice.message, advice.hint].compactMap({ $0 }) {
        #expect(!text.english.isEmpty && text.english.unicodeScalars.allSatisfy(\.isASCII))
        #expect(text.chinese.unicodeScalars.contains { $0.properties.isIdeographic }, "\(text.chinese)")
      }
    }
  }

  @Test("Every hint begins with a capital letter or a command, and ends with a full stop or a command.")
  func sentences() throws {
    for failure in Self.all {
      let hint = failure.localized(.english).hint
      let first = try #require(hint.first, "\(failure)")
      #expect(first.isUppercase || first == "`", "\(hint)")
      #expect(hint.hasSuffix(".") || hint.contains("imctl ") || hint.contains("--"), "\(hint)")
      #expect(failure.localized(.chinese).hint.contains("imctl ") == hint.contains("imctl "), "\(hint)")
    }
  }

  @Test("Every failure has a specific hint.")
  func help() {
    for failure in Self.all {
      let hint = failure.localized(.english).hint
      #expect(!hint.hasPrefix("Correct it") && !hint.contains("tells why"), "\(hint)")
    }
  }

  @Test("A message quotes the server or the peer only if that has sent an error.")
  func quotes() {
    for failure in Self.all where failure.condition == nil {
      let message = failure.localized(.english).message
      #expect(!message.contains("said") && !message.contains("the answer:"), "\(message)")
      let chinese = failure.localized(.chinese).message
      #expect(!chinese.contains("服务器说") && !chinese.contains("；应答"), "\(chinese)")
    }
  }

  @Test("A stanza error quotes an answer from an unnamed sender, and a stream error quotes the server.")
  func speakers() {
    let bounce = Failure(
      .stanzaError, stage: .request, detail: .text("b@y"), condition: "item-not-found", text: "no")
    #expect(
      bounce.localized(.english).message
        == "request: the request was answered with an error (b@y); the answer: item-not-found: no")
    #expect(bounce.localized(.chinese).message == "请求：请求得到了错误应答（b@y）；应答：item-not-found: no")
    let end = Failure(.networkError, stage: .stream, condition: "reset", text: "Password changed")
    #expect(
      end.localized(.english).message
        == "XML stream: the server ended the session and requires a new one; the server said: reset: Password changed"
    )
    #expect(end.localized(.english).hint.contains("If the password was changed, log in with the new one"))
  }

  @Test("The hint for a certificate that is not the pinned one does not recommend trusting it.")
  func pinned() {
    let detail = FailureDetail.connection(
      .certificateRefused, "im.example", FailureDetail.connection(.notPinned), "Subject CN=x")
    let failure = Failure(.tlsFailure, stage: .tls, detail: detail)
    for language in Language.allCases {
      let hint = failure.localized(language).hint
      #expect(!hint.contains("--cert-sha256") && !hint.contains("--ca-file"), "\(hint)")
      #expect(hint.contains("imctl account trust JID --reset"))
    }
    #expect(failure.localized(.english).hint.hasPrefix("Someone may be intercepting the connection."))
  }

  @Test("The hint for a port with the other kind of TLS names the option that is needed.")
  func otherPort() {
    let toSTARTTLS = Failure(.tlsFailure, stage: .tls, detail: .connection(.noTLS))
    #expect(toSTARTTLS.localized(.english).hint.contains("--tls starttls"))
    for (name, key) in [
      (Failure.Name.tlsFailure, FailureDetail.Stream.answeredWithTLS), (.networkError, .endedBeforeStream),
    ] {
      let failure = Failure(name, stage: .stream, detail: .stream(key))
      #expect(failure.localized(.english).hint.contains("--tls direct"))
      #expect(failure.localized(.chinese).hint.contains("--tls direct"))
      #expect(!failure.localized(.chinese).message.contains("the "))
    }
  }
}
