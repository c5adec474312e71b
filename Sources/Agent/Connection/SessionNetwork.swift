import AgentProtocol
import AgentSystem
import NIOCore
import XMPPClient

// What follows when the network has changed, or the machine has slept.

extension Session {
  /// A session that is online asks its server at once whether the connection still works, and else comes back; one
  /// that waits for its next attempt makes it now, and one whose attempt has lost its address begins it anew.
  ///
  /// - Parameter addresses: those that this machine has now.
  func networkChanged(
    _ change: NetworkChange, addresses: Set<String> = LocalAddresses.now()
  ) async {
    if online == nil, login?.pause?.mayHurry == true, published.status.state == .waiting {
      enter(.netChanged) { $0.interface = change.interface }
    }
    // One that is asked already, or has only just come, has nothing to add.
    let isAsked = online?.state == .syncOK
    if isAsked { advance(.netChanged) { $0.interface = change.interface } }
    await client.networkChanged(addresses: addresses)
    guard isAsked, let online, online.stream.isCurrent, online.state == .netChanged else { return }
    advance(.syncOK) { $0.fullJID = online.bound.jid.description }
  }

  /// Asks the server at once whether it is there; a stream without an answer ends, and the session comes back.
  @discardableResult
  func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard online != nil else { return false }
    return await client.probe(timeout: timeout)
  }
}
