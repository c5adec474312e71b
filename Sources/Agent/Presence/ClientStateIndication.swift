import XMPP
import XMPPClient
import XMPPFeatures

/// Whether the server is told that the user looks away (XEP-0352).
final class ClientStateIndication {
  /// The server has said that it wants to know.
  private var isWanted = false

  /// Sends the state; whether the server wants to know it, and it was sent.
  func send(_ state: ClientState, on stream: BoundSession) async -> Bool {
    // After an inline resumption the features may be on their way still.
    if let features = await stream.features { isWanted = ClientState.isOffered(by: features) }
    guard isWanted else { return false }
    do throws(XMPPError) { try await stream.send([state.element]) } catch { return false }
    return true
  }
}
