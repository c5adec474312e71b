import AgentProtocol
import Testing
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPTransport

@testable import AgentLogin

@Suite("What an error of a connection or a stream says")
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

  @Test("Every sentence of the libraries is known, with the same text in English.")
  func known() {
    Self.check(TransportError.Sentence.self)
    Self.check(XMPPError.Sentence.self)
    Self.check(RequestSentence.self)
    for sentence in SASLError.Sentence.allCases {
      #expect(FailureDetail.Key(name: "authentication.\(sentence.rawValue)") != nil, "\(sentence)")
    }
  }

  @Test("The failure of an error has its sentence and its arguments.")
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

  @Test("A text of somebody else stays as it is, and so does a sentence that is not known.")
  func text() {
    #expect(FailureDetail(ErrorReason(text: "no TLS today")) == .text("no TLS today"))
    let unknown = ErrorReason(key: "stream.teapot", arguments: [], description: "short and stout")
    #expect(FailureDetail(unknown) == .text("short and stout"))
  }

  @Test(
    "The sentence of a refused mechanism says what its English text says.",
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

  @Test("A detail goes through an error of a stream as it is, for the password command of a proxy.")
  func back() {
    let detail = FailureDetail.about("pass", FailureDetail.login(.exitStatus, 2))
    #expect(FailureDetail(ErrorReason(detail)) == detail)
    #expect(ErrorReason(detail).description == "pass: exit status 2")
  }
}
