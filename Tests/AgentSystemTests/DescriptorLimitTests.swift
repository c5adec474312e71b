import AgentProtocol
import Testing

@testable import AgentSystem

@Suite("The limit of file descriptors") struct DescriptorLimitTests {
  @Test("A descriptor limit that is too low for all sessions and clients is reported with its numbers.")
  func tooFew() throws {
    let failure = try #require(DescriptorLimit.failure(for: 900, limit: 40))
    #expect(
      failure.message.contains(
        "40 files can be open at a time, but \(900 + DescriptorLimit.beside) are needed"))
    #expect(failure.hint.contains("ulimit -Hn"))
    #expect(failure.localized(.chinese).message.contains("40"))
    #expect(DescriptorLimit.failure(for: 900, limit: 1024) == nil)
  }
}
