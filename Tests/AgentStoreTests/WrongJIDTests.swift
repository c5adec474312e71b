import AgentProtocol
import Testing
import XMPPStanza

@testable import AgentStore

@Suite("The error of an invalid JID")
struct WrongJIDTests {
  @Test(
    "The error of an invalid JID is reported in English and in Chinese.",
    arguments: [
      ("@example.org", "there is nothing before the @", "@ 之前没有内容"),
      ("a@", "no domain", "没有域名"),
      ("a@example.org/", "there is nothing after the /", "/ 之后没有内容"),
      ("a b@example.org", "local part contains a space", "本地部分含有空格"),
      ("a&b@example.org", "local part contains the character &", "本地部分含有字符 &"),
      ("a@-.example", "domain has a label that begins or ends with a hyphen", "域名中有标签以连字符开头或结尾"),
      ("a@[::1", "domain is not an IPv6 address in brackets", "域名不是方括号中的 IPv6 地址"),
      (
        "a@example.org/" + String(repeating: "x", count: 1024), "resource is longer than 1023 octets",
        "资源超过 1023 字节"
      ),
    ])
  func sentences(jid: String, english: String, chinese: String) {
    let error = #expect(throws: JIDError.self) { try JID(jid) }
    #expect(error?.message == english)
    #expect(error.map { FailureDetail($0) }?.text(.english) == english)
    #expect(error.map { FailureDetail($0) }?.text(.chinese) == chinese)
  }

  @Test("Every sentence about an invalid JID and the name of every part is known.")
  func known() {
    for sentence in JIDError.Sentence.allCases {
      #expect(FailureDetail.Key(name: "address.\(sentence.rawValue)") != nil, "\(sentence)")
    }
    for part in JIDError.Part.allCases {
      let error = JIDError(.invalidLocal, "\(part.rawValue) contains a space", .space, of: part)
      #expect(FailureDetail(error).text(.english) == error.message)
    }
  }
}
