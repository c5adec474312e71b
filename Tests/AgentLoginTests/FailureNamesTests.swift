import AgentLogin
import AgentProtocol
import Testing
import XMPP

@Suite struct FailureNamesTests {
  @Test(
    "Every error code of the library is the name of a failure in the table.", arguments: XMPPError.Code.all)
  func code(code: XMPPError.Code) {
    let failure = Failure(XMPPError(code, stage: .stream, "why"))
    #expect(FailureTable[failure.name] != nil)
    #expect(XMPPError.Code(failure.name) == code)
  }

  @Test("Every error code of the library is unique.")
  func unique() {
    #expect(Set(XMPPError.Code.all).count == XMPPError.Code.all.count)
  }

  @Test("Every stage of the library is also a stage of a failure.", arguments: XMPPError.Stage.allCases)
  func stages(stage: XMPPError.Stage) {
    #expect(Failure(XMPPError(.networkError, stage: stage, "why")).stage.rawValue == stage.rawValue)
  }

  @Test("The server's words replace the library's own, except in a failure that needs both.")
  func words() {
    let silent = XMPPError(.networkError, stage: .stream, "why")
    #expect(Failure(silent).detail == .text("why"))
    let refused = XMPPError(.stanzaError, stage: .request, "why", condition: "conflict", text: "taken")
    #expect(Failure(refused) == Failure(.stanzaError, stage: .request, condition: "conflict", text: "taken"))
    #expect(Failure.refused(refused).detail == .text("why"))
    #expect(Failure.refused(refused).condition == "conflict")
  }
}
