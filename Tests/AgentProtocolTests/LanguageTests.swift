import AgentProtocol
import Testing

@Suite struct LanguageTests {
  @Test(
    "The language is that of the first locale variable that is not empty.",
    arguments: [
      ([:], Language.english),
      (["LANG": "zh_CN.UTF-8"], .chinese),
      (["LANG": "zh"], .chinese),
      (["LANG": "de_DE.UTF-8"], .english),
      (["LC_MESSAGES": "C", "LANG": "zh_CN.UTF-8"], .english),
      (["LC_ALL": "zh_TW.UTF-8", "LC_MESSAGES": "C", "LANG": "C"], .chinese),
      (["LC_ALL": "", "LC_MESSAGES": "", "LANG": "zh_CN"], .chinese),
    ] as [([String: String], Language)])
  func choice(environment: [String: String], language: Language) {
    #expect(Language { environment[$0] } == language)
  }
}
