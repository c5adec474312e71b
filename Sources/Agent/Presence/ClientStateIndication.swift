import AgentProtocol
import XMPP
import XMPPClient
import XMPPFeatures

/// What the session does while the user looks away, and whether the server is told of that (XEP-0352).
final class ClientStateIndication {
  /// nil: the user is there.
  var idle: IdleMode?
  /// The server has said that it wants to know.
  private var isWanted = false

  /// Tells the server whether the user is there; whether it wants to know that, and it was sent.
  func send(on stream: BoundSession) async -> Bool {
    let state: ClientState = idle == .csi ? .inactive : .active
    // After an inline resumption the features may be on their way still.
    if let features = await stream.features { isWanted = ClientState.isOffered(by: features) }
    guard isWanted else { return false }
    do throws(XMPPError) { try await stream.send([state.element]) } catch { return false }
    return true
  }
}
