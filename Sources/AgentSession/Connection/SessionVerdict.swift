import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient

// The reaction to a failed attempt: another attempt at once or later, or none.

extension Session {
  func verdict(after end: ConnectionEnd) async -> ConnectionVerdict {
    guard !end.wasInUse, let login else { return reconnection.answer }
    let attempt = login.attempt
    login.connectingEnded()
    let failure = failure(of: login, end.error)
    if let attempt, mayGoOn {
      if login.attempt?.presented != nil, end.error.objection == .possible, !attempt.plan.isStepByStep {
        await keepObjection(to: attempt.plan)
      }
      let wasDeviceToken = attempt.mechanism?.isDeviceToken == true
      if login.reconsider(after: failure) {
        log.info(
          "trying again with another login method",
          metadata: ["account": "\(account)", "after": "\(failure.name.rawValue)"])
        if wasDeviceToken { await remember(failure, state: nil, of: login) }
        return .atOnce
      }
    }
    return login.terms.isAutomatic
      ? await verdict(automatic: login, failure, end.error) : await verdict(byHand: login, failure)
  }

  /// Whether the login was not given up.
  private var mayGoOn: Bool { !Task.isCancelled && !reconnection.isLogoutWaiting && !reconnection.isEnding }

  /// Why the attempt failed.
  private func failure(of login: PendingLogin, _ error: XMPPError) -> Failure {
    guard let attempt = login.attempt, attempt.presented != nil else {
      return login.failure ?? Failure(error)
    }
    return attempt.plan.interpret(
      (login.failure ?? Failure(error)).beforeSync, of: attempt.mechanism, offered: attempt.offered,
      presented: attempt.presented, at: Date().timeIntervalSince1970)
  }

  // MARK: By hand

  private func verdict(byHand login: PendingLogin, _ error: Failure) async -> ConnectionVerdict {
    login.tokenAnswerUsed()
    let reaction = reconnection.userAttemptFailed(error, of: login, mayGoOn: mayGoOn)
    let failure = reaction.failure
    await failed(failure, of: login)
    if reaction.comesBack {
      login.attemptEnded()
      return reaction.verdict
    }
    if login.attempt != nil, login.terms.renewsSecret, ReconnectPolicy.needsFreshSecret(after: failure),
      !Task.isCancelled, online == nil
    {
      if let renewed = await renewed(login.plan, after: failure), !Task.isCancelled {
        login.adopt(renewed)
        login.attemptEnded()
        return .after(seconds: min(reconnection.closed(renewed) ?? 0, max(0, login.remaining ?? .infinity)))
      }
      tellLoginRequired(failure)
    }
    loginEnded()
    login.end(.failure(failure))
    return .never
  }

  // MARK: By itself

  private func verdict(
    automatic login: PendingLogin, _ error: Failure, _ cause: XMPPError
  ) async -> ConnectionVerdict {
    if Task.isCancelled { return .never }
    // If too many files are open, there was no attempt.
    guard login.attempt != nil else {
      return activePlan == nil ? .never : .after(seconds: Double.random(in: 20...40))
    }
    beginWriting()
    defer { endWriting() }
    let leavesOutExcess = await client.leavesOutExcess
    let reaction = reconnection.automaticAttemptFailed(
      error, of: login, isCured: cause.isElsewhere || (error.name == .protocolError && leavesOutExcess))
    let failure = reaction.failure
    if reconnection.end != nil { loginEnded() }
    await failed(failure, of: login, comesBack: reaction.comesBack)
    if !reaction.comesBack { await leaveTrace(of: failure, login.plan) }
    login.attemptEnded()
    guard ReconnectPolicy.needsFreshSecret(after: error) else { return reaction.verdict }
    return await renewal(of: login, after: failure) ?? reaction.verdict
  }

  /// The reaction if a new secret is needed; nil: the same as without one.
  private func renewal(of login: PendingLogin, after failure: Failure) async -> ConnectionVerdict? {
    if Task.isCancelled { return nil }
    let renewed = await renewed(login.plan, after: failure)
    if Task.isCancelled { return nil }
    if let renewed {
      reconnection.changePlan { $0 = renewed }
      return .after(seconds: reconnection.closed(renewed) ?? 0)
    }
    loginEnded()
    reconnection.ended(by: failure)
    published.forgetDataReady()
    tellLoginRequired(failure)
    return .never
  }

  /// Records that a connection failed during a login with pipelining. One such failure may be temporary; after two in a
  /// row, the login proceeds step by step.
  private func keepObjection(to plan: LoginPlan) async {
    guard let server = plan.server else { return }
    let objections = min(2, server.objections + 1)
    reconnection.changePlan { $0.server?.objections = objections }
    try? await accounts.change(account) { $0.server?.objections = objections }
  }

  /// Stores why a first login in the background failed, for later queries, although nothing else of the account is
  /// stored.
  private func leaveTrace(of failure: Failure, _ plan: LoginPlan) async {
    do throws(Failure) { try await accounts.leaveTrace(of: failure, plan) } catch {
      context.report("store", error)
    }
  }
}
