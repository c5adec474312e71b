import AgentProtocol
import Testing
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPTransport

@testable import AgentLogin

@Suite("The reason of a connection or stream error")
struct ErrorReasonTests {
  private static let bearer = {
    var credentials = SASLCredentials(authcid: "a")
    credentials.bearerToken = Secret("geheim")
    return credentials
  }()

  private static func check<Sentence: ErrorSentence>(_: Sentence.Type) {
    for sentence in Sentence.allCases {
      let key = FailureDetail.Key(name: sentence.key)
      #expect(key?.sentence.english == sentence.english, "\(sentence.key)")
    }
  }

  @Test("Every sentence of the libraries is known to the agent with the same English text.")
  func known() {
    Self.check(TransportError.Sentence.self)
    Self.check(XMPPError.Sentence.self)
    Self.check(RequestSentence.self)
    for sentence in SASLError.Sentence.allCases {
      #expect(FailureDetail.Key(name: "authentication.\(sentence.rawValue)") != nil, "\(sentence)")
    }
  }

  @Test("A failure keeps the sentence and the arguments of the error that caused it.")
  func failure() {
    let refusal = ErrorReason(
      TransportError.Sentence.certificateRefused,
      of: ["im.example", ErrorReason(TransportError.Sentence.certificateExpired, of: []), "Subject: x"])
    let failure = Failure(XMPPError(transportError: TransportError(.certificateRejected, refusal)))
    #expect(
      failure.detail?.text(.english)
        == "The certificate of im.example is refused: certificate has expired. Subject: x")
    #expect(failure.localized(.chinese).message == "TLS：无法建立安全连接（im.example 的证书被拒绝：证书已过期。Subject: x）")
    #expect(failure.hint.contains("clock"))
  }

  @Test("A free text, or a sentence that the agent does not know, is kept as a text.")
  func text() {
    #expect(FailureDetail(ErrorReason(text: "no TLS today")) == .text("no TLS today"))
    let unknown = ErrorReason(key: "stream.teapot", arguments: [], description: "short and stout")
    #expect(FailureDetail(unknown) == .text("short and stout"))
  }

  @Test(
    "The sentence of a refused mechanism has the same English text as its error.",
    arguments: [
      (SASLCredentials(authcid: "a", password: Secret("geheim")), [.plain, .scramSHA1], [.plain], true),
      (SASLCredentials(authcid: "a", password: Secret("geheim")), [.plain], nil, false),
      (Self.bearer, [.oauthBearer], nil, false),
      (Self.bearer, [.scramSHA1], nil, true),
    ] as [(SASLCredentials, [SASLMechanismName], Set<SASLMechanismName>?, Bool)])
  func mechanism(
    credentials: SASLCredentials, offered: [SASLMechanismName], allowed: Set<SASLMechanismName>?,
    isEncrypted: Bool
  ) throws {
    do throws(SASLError) {
      _ = try SASLMechanismChoice.choose(
        offer: SASLOffer(mechanisms: offered), credentials: credentials,
        context: SASLContext(isEncrypted: isEncrypted), policy: SASLPolicy(allowed: allowed))
      Issue.record("it is not refused")
    } catch {
      let sentence = try #require(error.sentence)
      let key = try #require(FailureDetail.Key(name: "authentication.\(sentence.rawValue)"))
      let detail = FailureDetail.sentence(key, error.arguments.map(FailureDetail.text))
      #expect(detail.text(.english) == error.message)
    }
  }

  @Test("The detail of a failed proxy password command is unchanged after its way through a stream error.")
  func back() {
    let detail = FailureDetail.about("pass", FailureDetail.login(.exitStatus, 2))
    #expect(FailureDetail(ErrorReason(detail)) == detail)
    #expect(ErrorReason(detail).description == "pass: exit status 2")
  }
}
