import AgentLogin
import AgentProtocol
import AgentSystem
import NIOCore
import XMPPClient

// Reconnecting: the client makes one attempt after another, and the session decides when.

extension Session {
  /// Stops automatic attempts, and returns when none is in progress. None begins until ``releaseReconnection()``.
  func holdReconnection() async {
    await client.hold(sending: presence.farewell)
    loginEnded()
    // The session is now neither waiting nor connecting.
    let isOver = [.offline, .loseConnection, .kicked, .linkFailed, .loginFailed].contains(
      published.status.state)
    if !isActive, !isOver { enter(.offline) }
  }

  /// Lets the client continue if the session is to be online.
  func releaseReconnection() async {
    guard reconnection.isWanted else {
      if online == nil { await client.disconnect() }
      return
    }
    if online == nil, login == nil { beginReconnection() }
    await client.goOnline(after: online == nil ? reconnection.remaining : 0)
  }

  /// Begins to reconnect if the session is to be online, is offline, and no turn handles it.
  func keepOnline() async {
    guard !isActive, !turns.isTaken else { return }
    await releaseReconnection()
  }

  /// Begins a login for the client's automatic attempts.
  @discardableResult
  func beginReconnection() -> PendingLogin? {
    guard let activePlan else { return nil }
    var terms = PendingLogin.Terms()
    terms.isAutomatic = true
    terms.limit = SessionPatience.standard.attempt
    let login = beginLogin(activePlan, terms)
    published.activityChanged()
    return login
  }

  /// Ends the login in progress, even if a command waits for it.
  func giveUpLogin(patience: TimeAmount = .seconds(2)) async {
    guard let login else { return }
    await client.hold(sending: presence.farewell, patience: patience)
    // The login may have succeeded or failed meanwhile.
    guard !login.isOver else { return }
    loginEnded()
    let cancelled = Failure(.cancelled, stage: .connect)
    if !login.terms.isAutomatic { await failed(cancelled, of: login) }
    login.end(.failure(cancelled))
  }

  /// Ends the login with this number, for which no command waits any more.
  func giveUpLogin(_ number: Int) async {
    if login?.number == number { await giveUpLogin() }
  }

  /// The client pauses for this number of seconds before the next attempt.
  func pause(_ seconds: Double, mayHurry: Bool) {
    guard let login else { return }
    // Even a very short pause is shown as a pause.
    let seconds = max(1, (seconds * 1000).rounded()) / 1000
    login.paused(until: timestamp(seconds), mayHurry: mayHurry)
    // A login that is to replace an online session pauses without a change of state.
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

  /// Reacts to a network change. An online session probes its server at once, and reconnects without an answer. A
  /// session that waits for its next attempt begins it now. A session whose attempt has lost its address begins it
  /// again.
  ///
  /// - Parameter addresses: The current addresses of this machine.
  package func networkChanged(
    _ change: NetworkChange, addresses: Set<String> = LocalAddresses.now()
  ) async {
    if online == nil, login?.pause?.mayHurry == true, published.status.state == .waiting {
      enter(.netChanged) { $0.interface = change.interface }
    }
    // A session that is already probing, or is not synchronised yet, does not change its state.
    let isAsked = online?.state == .syncOK
    if isAsked { advance(.netChanged) { $0.interface = change.interface } }
    await client.networkChanged(addresses: addresses)
    guard isAsked, let online, online.stream.isCurrent, online.state == .netChanged else { return }
    advance(.syncOK) { $0.fullJID = online.bound.jid.description }
  }

  /// Probes the server at once. Without an answer, the stream ends and the session reconnects.
  @discardableResult
  package func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard online != nil else { return false }
    return await client.probe(timeout: timeout)
  }
}
