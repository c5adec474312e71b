import AgentProtocol
import Testing

@Suite struct FailureTableTests {
  @Test("Names are unique.")
  func unique() {
    #expect(Set(FailureTable.rows.map(\.name)).count == FailureTable.rows.count)
  }
}
