import TestSupport
import Testing
import XMPP
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite("Registration forms")
struct RegistrationFormTests {
  private static func form(_ content: String) throws -> RegistrationForm? {
    RegistrationForm(
      try #require(
        IQ(
          try element(
            "<iq type='result' id='1'><query xmlns='jabber:iq:register'>\(content)</query></iq>"))))
  }

  private static func data(_ fields: String) -> String {
    "<x xmlns='jabber:x:data' type='form'>\(fields)</x>"
  }

  private static let user = ["username": ["bill"], "password": ["Calliope"]]
  private static let both = "<field var='username'/><field var='password' type='text-private'/>"

  @Test("A registration form that is a list of fields requires all of them (XEP-0077 §3.1.1).")
  func plain() throws {
    let form = try #require(
      try Self.form("<instructions>Choose!</instructions><username/><password/><email/><key>k</key>"))
    #expect(form.instructions == "Choose!")
    #expect(form.fields.map(\.name) == ["username", "password", "email"])
    #expect(form.fields.filter(\.isSecret).map(\.name) == ["password"])
    #expect(form.missing(in: Self.user).map(\.name) == ["email"])
    let sent = try form.submission(Self.user.merging(["email": ["bard@shakespeare.example"]]) { $1 })
    #expect(
      sent
        == (try element(
          "<query xmlns='jabber:iq:register'><username>bill</username><password>Calliope</password>"
            + "<email>bard@shakespeare.example</email></query>")))
  }

  @Test("A registration form that is a data form takes precedence over the list beside it (XEP-0077 §4).")
  func dataForm() throws {
    let form = try #require(
      try Self.form(
        "<instructions>old</instructions><username/><password/><email/>"
          + Self.data(
            "<instructions>new</instructions>"
              + "<field type='hidden' var='FORM_TYPE'><value>jabber:iq:register</value></field>"
              + "<field var='username'><required/></field>"
              + "<field type='text-private' var='password'><required/></field>"
              + "<field type='list-single' var='x-gender'><option><value>M</value></option>"
              + "<option><value>F</value></option></field>"
              + "<field type='boolean' var='news'><value>1</value></field>")))
    #expect(form.instructions == "new")
    #expect(form.fields.map(\.name) == ["username", "password", "x-gender", "news"])
    let sent = try form.submission(Self.user.merging(["x-gender": ["F"]]) { $1 })
    #expect(
      sent
        == (try element(
          "<query xmlns='jabber:iq:register'><x xmlns='jabber:x:data' type='submit'>"
            + "<field var='FORM_TYPE' type='hidden'><value>jabber:iq:register</value></field>"
            + "<field var='username'><value>bill</value></field>"
            + "<field var='password'><value>Calliope</value></field>"
            + "<field var='x-gender'><value>F</value></field><field var='news'><value>1</value></field>"
            + "</x></query>")))
  }

  @Test(
    "A registration form reports missing and unknown fields of an answer without quoting any value.",
    arguments: [
      (
        "<username/><password/><email/><phone/>", [:],
        "the server also requires: email, phone"
      ),
      (
        "<username/><password/>", ["email": ["x@y"]],
        "the server does not ask for email, but for: username, password"
      ),
      ("<username/><password/>", ["username": ["a", "b"]], "username takes one value"),
      (
        data(both + "<field var='email' label='E-mail'><required/></field>"), [:],
        "the server also requires: email (E-mail)"
      ),
      (
        data(
          "<field var='username'/><field var='password' type='list-single'><option><value>1234</value></option></field>"
        ),
        [:], "password must be one of: 1234"
      ),
      (
        data(both + "<field var='news' type='boolean'/>"), ["news": ["maybe"]],
        "news must be one of: true, false, 1, 0"
      ),
      (data(both + "<field var='e'><required/><value/></field>"), [:], "the server also requires: e"),
    ] as [(String, [String: [String]], String)])
  func wrongAnswers(content: String, answers: [String: [String]], message: String) throws {
    let form = try #require(try Self.form(content))
    let failure = try #require(throws: XMPPError.self) {
      try form.submission(Self.user.merging(answers) { $1 })
    }
    #expect((failure.code, failure.message) == (.invalidParameter, message))
    #expect(!failure.description.contains("Calliope"))
  }

  @Test(
    "A registration form without a user name or a password cannot be submitted.",
    arguments: [
      "<password/>", "<username/>", "", data("<field var='password'/>"),
      data("<field type='hidden' var='username'><value>other</value></field><field var='password'/>"),
    ])
  func nameless(content: String) throws {
    let form = try #require(try Self.form(content))
    #expect(throws: XMPPError.self) { try form.submission(Self.user) }
  }

  @Test(
    "A registration form that refers to a web page (XEP-0066) or asks for a CAPTCHA (XEP-0158) is reported."
  )
  func elsewhere() throws {
    let outOfBand = try #require(
      try Self.form(
        "<instructions>Go</instructions><x xmlns='jabber:x:oob'><url>https://im.example/join</url></x>"))
    let failure = try #require(throws: XMPPError.self) { try outOfBand.submission(Self.user) }
    #expect(failure.code == .stanzaError)
    #expect(failure.message == "the server wants you to register at https://im.example/join")

    let captcha = try #require(
      try Self.form(
        Self.data(
          Self.both
            + "<field type='text-single' var='captcha-fallback-url'><value>https://im.example/c</value></field>"
            + "<field var='ocr' label='Enter the text you see'><media xmlns='urn:xmpp:media-element'>"
            + "<uri type='image/png'>cid:sha1+x@bob.xmpp.org</uri></media><required/></field>")))
    let missing = try #require(throws: XMPPError.self) { try captcha.submission(Self.user) }
    #expect(
      missing.message == "the server also requires: ocr (Enter the text you see, "
        + "cid:sha1+x@bob.xmpp.org); see https://im.example/c")
    #expect(try captcha.submission(Self.user.merging(["ocr": ["7nHL3"]]) { $1 }).name.local == "query")
  }

  @Test(
    "A registration form in another kind of answer, or with too many fields, is ignored.")
  func none() throws {
    #expect(RegistrationForm(IQ(type: .result)) == nil)
    #expect(
      RegistrationForm(IQ(type: .result, payload: [XMLElement("query", namespace: Namespaces.roster)]))
        == nil)
    #expect(try Self.form("<username/><password/>" + String(repeating: "<email/>", count: 255)) == nil)
    #expect(try Self.form(Self.data(String(repeating: "<field var='a'/>", count: 257))) == nil)
    #expect(try Self.form("<x xmlns='jabber:x:data' type='result'/>") == nil)
  }
}
