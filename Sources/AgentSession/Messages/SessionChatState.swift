import AgentProtocol
import XMPP
import XMPPFeatures
import XMPPStanza

extension Session {
  /// Sends a chat state, or drops it where it cannot be sent now.
  package func sendChatState(_ parameters: ChatStateSendMethod.Parameters) async throws(Failure) {
    let to = try JID(given: parameters.to)
    guard let state = ChatState(rawValue: parameters.state) else {
      throw Failure(.invalidParameter, stage: .input, detail: .session(.unknownChatState, parameters.state))
    }
    guard let stream = online?.stream else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(account.description))
    }
    do throws(XMPPError) {
      try await stream.send([state.message(to: to).element])
    } catch {
      throw Failure(error)
    }
  }
}
