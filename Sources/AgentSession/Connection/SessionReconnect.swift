import AgentLogin
import AgentProtocol
import AgentSystem
import NIOCore
import XMPPClient

// Coming back: the client makes one attempt after the other, and the session says when it may.

extension Session {
  /// Returns when no automatic attempt is on its way any more; none begins until ``releaseReconnection()``.
  func holdReconnection() async {
    let given = login
    await client.hold(sending: presence.farewell)
    if login === given { login = nil }
    // Nobody waits or connects now.
    let isOver = [.offline, .loseConnection, .kicked, .linkFailed, .loginFailed].contains(
      published.status.state)
    if !isActive, !isOver { enter(.offline) }
  }

  /// The client goes on, where the session is to be online.
  func releaseReconnection() async {
    guard reconnection.isWanted else {
      if online == nil { await client.disconnect() }
      return
    }
    if online == nil, login == nil { beginReconnection() }
    await client.goOnline(after: online == nil ? reconnection.remaining : 0)
  }

  /// Begins to come back, where the session is to be online, is not, and nobody sees to it.
  func keepOnline() async {
    guard !isActive, !turns.isTaken else { return }
    await releaseReconnection()
  }

  /// The login that the client makes by itself.
  @discardableResult
  func beginReconnection() -> PendingLogin? {
    guard let activePlan else { return nil }
    var terms = PendingLogin.Terms()
    terms.isAutomatic = true
    terms.limit = SessionPatience.standard.attempt
    let login = PendingLogin(activePlan, terms)
    self.login = login
    published.activityChanged()
    return login
  }

  /// Ends the login that is on its way, whoever waits for it.
  func giveUpLogin(patience: TimeAmount = .seconds(2)) async {
    guard let login else { return }
    await client.hold(sending: presence.farewell, patience: patience)
    guard self.login === login else { return }
    self.login = nil
    let cancelled = Failure(.cancelled, stage: .connect)
    if !login.terms.isAutomatic { await failed(cancelled, of: login) }
    login.end(.failure(cancelled))
  }

  /// Nobody waits for this login any more.
  func giveUpLogin(_ id: ObjectIdentifier) async {
    if login.map(ObjectIdentifier.init) == id { await giveUpLogin() }
  }

  /// The client waits for so many seconds before the next attempt.
  func pause(_ seconds: Double, mayHurry: Bool) {
    guard let login else { return }
    // However short it is, it is one.
    let seconds = max(1, (seconds * 1000).rounded()) / 1000
    login.pause = (timestamp(seconds), mayHurry)
    // A login that is to replace a running session waits beside it.
    guard ![.waiting, .syncOK].contains(published.status.state) else { return }
    var cause = lastFailure
    if let closed = reconnection.closed(login.plan), closed > seconds - 1, cause?.name != .rateLimited {
      cause = reconnection.notBefore(closed)
    }
    enter(.waiting, cause: cause) {
      $0.retryIn = seconds
      $0.attempt = reconnection.attempts
    }
  }

  // MARK: The network has changed, or the machine has slept

  /// A session that is online asks its server at once whether the connection still works, and else comes back; one
  /// that waits for its next attempt makes it now, and one whose attempt has lost its address begins it anew.
  ///
  /// - Parameter addresses: those that this machine has now.
  package func networkChanged(
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
  package func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard online != nil else { return false }
    return await client.probe(timeout: timeout)
  }
}
