import AgentProtocol
import XMPP
import XMPPStanza

// What a session sends and receives, so that nothing is lost and nothing comes twice.

extension Session {
  func received(_ message: Message) async {}

  /// The events before were made of the stanzas up to `count`.
  func received(through count: UInt32, on stream: XMPPStream) async {
    online?.isResumable = await stream.management?.canResume ?? false
    await stream.confirm(through: count)
  }

  /// The server has these.
  func acknowledged(_ stanzas: [SentStanza]) async {}

  /// A stream is bound. Of the session before: what the server does not have, where that goes on; else what it may
  /// have or not.
  func settle(_ bound: BoundStream, on stream: XMPPStream) async {}
}
