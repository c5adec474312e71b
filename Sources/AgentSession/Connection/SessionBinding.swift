import AgentLogin
import AgentProtocol
import XMPP
import XMPPClient
import XMPPXML

// From the binding of a session until its login is completed or refused.

extension Session {
  func bind(_ stream: BoundSession) async {
    guard let login, let attempt = login.attempt else { return }
    let bound = stream.bound
    let isWanted = !login.terms.isAutomatic || published.status.sessions == 0
    var plan = attempt.plan
    plan.succeeded(bound, presenting: attempt.presented, offer: attempt.offer)
    let before = plan.lastLogin
    if isWanted || before == nil { plan.lastLogin = timestamp() }
    login.connectingEnded()
    if let show = login.terms.presence { presence.want(show) }
    endOnline(.loginOK)
    let beginning = SessionBeginning(stream, context)
    let online = OnlineSession(
      beginning, login, plan, isPublished: isWanted,
      leavesOutExtension: plan.leavesOutExtension(of: attempt.presented, in: bound))
    self.online = online
    online.limit(to: attempt.remaining) { await self.expire() }
    published.sessionBound(isResumed: bound.isResumed)
    presence.begin(stream)
    contacts.begin(beginning)
    messages.begin(stream)
    devices.begin(stream, isLogin: isWanted && !bound.isResumed)
    tellBound(bound)
    // A login is stored only once it is known to be allowed.
    plan.checksLastLogin = plan.checksLastLogin && !bound.isResumed
    if !plan.checksLastLogin, await !keepLogin(plan, of: online) { return }
    plan.isGiven = false
    online.changePlan { $0 = plan }
    // A task of its own, since the stream's events have to be handled meanwhile.
    Task { [plan] in
      if plan.checksLastLogin, await !self.checkLastLogin(since: before, of: online) { return }
      await self.synchronise(online)
    }
    if login.terms.noSync, !plan.checksLastLogin { await succeed(online) }
  }

  private func tellBound(_ bound: BoundStream) {
    enter(.loginOK) {
      $0.fullJID = bound.jid.description
      $0.resumed = bound.isResumed
      $0.mechanism = bound.mechanism.rawValue
      $0.tls = bound.tls.map(TLSSummary.init)
      $0.roundTrips = bound.roundTrips
      $0.host = bound.target.host
      $0.port = bound.target.port
    }
  }

  /// Completes the login: its waiting task gets the result, and the session is kept online from now on.
  func succeed(_ online: OnlineSession, late: [SyncPart] = []) async {
    guard let login = online.login, online.stream.isCurrent else { return }
    online.loginCompleted()
    loginEnded()
    let started = login.attempt?.started ?? .now
    let milliseconds = Int((ContinuousClock.now - started) / .milliseconds(1))
    reconnection.activate(online.plan)
    let bound = online.bound
    var success = LoginSuccess(
      userId: bound.jid.bare.description, fullJID: bound.jid.description, milliseconds: milliseconds)
    if !late.isEmpty { success.late = late }
    if !login.terms.isAutomatic { hub.publish(account: account.description, .success(success)) }
    // The login has succeeded, even if the session ends before the client has accepted it. The turn ends only after the
    // acceptance, because the next turn would make the client close a session that it has not accepted.
    let result = Self.result(success, online, already: false)
    await client.accept(online.stream)
    login.end(.success(result))
  }

  /// Ends a login that takes too long. Until a resource is bound, the stream enforces the time limit itself.
  private func expire() async {
    guard let online, let login = online.login, online.stream.isCurrent, let limit = login.attempt?.limit
    else { return }
    let detail = FailureDetail.session(.noAnswer, FailureDetail.seconds(limit))
    await refuse(
      online, Failure(.connectTimeout, stage: .sync, detail: detail), sending: presence.farewell)
  }

  /// Ends a bound session that must not be used.
  func refuse(_ online: OnlineSession, _ failure: Failure, sending farewell: [XMLElement] = []) async {
    guard online.stream.isCurrent else { return }
    online.login?.fail(failure)
    endOnline(.loginFailed)
    let error = XMPPError(.cancelled, stage: .sync, .says(.attemptGivenUp))
    await client.refuse(online.stream, for: error, sending: farewell)
  }
}
