import AgentProtocol
import AgentSystem
import NIOCore
import XMPP

// What follows when the network has changed, or the machine has slept.

extension Session {
  /// A session that is online asks its server at once whether the connection still works, and else comes back; one
  /// that waits for its next attempt makes it now, and one whose attempt has lost its address begins it anew.
  ///
  /// - Parameter addresses: those that this machine has now.
  func networkChanged(
    _ change: NetworkChange, addresses: Set<String> = LocalAddresses.now()
  ) async {
    if let opening, opening.session == nil { await beginAnew(opening, addresses) }
    guard let online else {
      guard mayHurry else { return }
      if status.state == .waiting { enter(.netChanged) { $0.interface = change.interface } }
      return hurry()
    }
    // Who is asked already, or has only just come, has nothing to add, but for the loss of its address.
    guard online.state == .syncOK else {
      if await online.stream.stream.localAddresses.isDisjoint(with: addresses) {
        await online.stream.stream.abort(.silentServer)
      }
      return
    }
    advance(.netChanged) { $0.interface = change.interface }
    guard await probe(), online.stream.isCurrent, online.state == .netChanged else {
      return
    }
    advance(.syncOK) { $0.fullJID = online.bound.jid.description }
  }

  /// What is sent from an address that the machine has no more is never answered. Before there is a connection nobody
  /// knows which address it will have.
  private func beginAnew(_ opening: Opening, _ addresses: Set<String>) async {
    let used = await opening.stream.localAddresses
    let isGone = used.isEmpty ? !opening.addresses.isSubset(of: addresses) : used.isDisjoint(with: addresses)
    guard isGone, self.opening?.number == opening.number, opening.session == nil else { return }
    tried.remedy = .fromAnotherAddress
    await giveUp(opening.number)
  }
}

/// The addresses of this machine.
enum LocalAddresses {
  static func now() -> Set<String> {
    Set(((try? System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress })
  }
}
