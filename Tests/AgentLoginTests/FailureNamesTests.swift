import AgentLogin
import AgentProtocol
import Testing
import XMPP

@Suite struct FailureNamesTests {
  @Test("Every code of the library is the name of a failure in the table.", arguments: XMPPError.Code.all)
  func code(code: XMPPError.Code) {
    let failure = Failure(XMPPError(code, stage: .stream, "why"))
    #expect(FailureTable[failure.name] != nil)
    #expect(XMPPError.Code(failure.name) == code)
  }

  @Test("The library names no failure twice.")
  func unique() {
    #expect(Set(XMPPError.Code.all).count == XMPPError.Code.all.count)
  }

  @Test("Every stage of the library is a stage of a failure.", arguments: XMPPError.Stage.allCases)
  func stages(stage: XMPPError.Stage) {
    #expect(Failure(XMPPError(.networkError, stage: stage, "why")).stage.rawValue == stage.rawValue)
  }

  @Test("What the server said takes the place of the library's own words, but where both are wanted.")
  func words() {
    let silent = XMPPError(.networkError, stage: .stream, "why")
    #expect(Failure(silent).detail == .text("why"))
    let refused = XMPPError(.stanzaError, stage: .request, "why", condition: "conflict", text: "taken")
    #expect(Failure(refused) == Failure(.stanzaError, stage: .request, condition: "conflict", text: "taken"))
    #expect(Failure.refused(refused).detail == .text("why"))
    #expect(Failure.refused(refused).condition == "conflict")
  }
}
