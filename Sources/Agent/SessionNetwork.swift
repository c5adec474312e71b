import AgentProtocol

// What follows when the network has changed, or the machine has slept.

extension Session {
  /// A session that is online asks its server at once whether the connection still works, and else comes back; one
  /// that waits for its next attempt makes it now.
  func networkChanged(_ change: NetworkChange) async {
    guard let online else {
      if status.state == .waiting, pausing != nil { enter(.netChanged) { $0.interface = change.interface } }
      return hurry()
    }
    // Who is asked already, or has only just come, has nothing to add.
    guard online.state == .syncOK else { return }
    advance(.netChanged) { $0.interface = change.interface }
    guard await probe(), self.online?.stream === online.stream, self.online?.state == .netChanged else {
      return
    }
    advance(.syncOK) { $0.fullJID = online.bound.jid.description }
  }
}
