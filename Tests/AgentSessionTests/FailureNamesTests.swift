import AgentProtocol
import Testing
import XMPP

@Suite struct FailureNamesTests {
  @Test(
    "Every failure of the library is in the failure table.", arguments: XMPPError.Code.all.map(\.rawValue))
  func code(name: String) {
    #expect(FailureTable[Failure.Name(rawValue: name)] != nil)
  }

  @Test("The library names no failure twice.")
  func unique() {
    #expect(Set(XMPPError.Code.all).count == XMPPError.Code.all.count)
  }

  @Test("Every stage of the library is a stage of a failure.")
  func stages() {
    for stage in XMPPError.Stage.allCases {
      #expect(Failure.Stage(rawValue: stage.rawValue) != nil, "\(stage)")
    }
  }
}
