import AgentProtocol
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// The account's devices tell each other about declined contact requests, which no server reports.

extension Contacts {
  /// Handles a change in a PubSub node of the account.
  func receive(_ event: PubSub.Event) async {
    guard event.node == AccountEvent.node.name else { return }
    for case .published(let item) in event.changes {
      let device = session.ask { $0.deviceID }
      guard let event = AccountEvent(item), event.device != device || device == nil, event.kind == .decline
      else { continue }
      let jid = event.jid.bare.description
      await removeRequest(of: jid, ContactEvent(.decline, jid: jid, by: .otherDevice))
    }
  }

  /// Tells the other devices that a request was declined.
  func publishDecline(of jid: JID, on stream: BoundSession) async {
    guard let account = await features.current(on: stream), PrivateNode.isOffered(in: account)
    else { return }
    let event = AccountEvent(.decline, jid: jid.bare, device: session.ask { $0.deviceID })
    do throws(XMPPError) {
      try await AccountEvent.node.publish(event.item(at: context.clock.now()), on: stream, of: account)
      let excess = AccountEvent.excess(of: try await AccountEvent.node.items(on: stream))
      if !excess.isEmpty { try await AccountEvent.node.retract(excess, on: stream) }
    } catch {
      context.log.info(
        "the other devices could not be told",
        metadata: ["account": "\(context.account)", "failure": "\(error.code)"])
    }
  }
}
