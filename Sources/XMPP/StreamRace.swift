import NIOCore
import XMPPTransport
import XMPPXML

// Connects to the servers of an account up to TLS. The first connection that gets there becomes the stream's, and only
// there is the account named. The others are closed.

/// The running race and its tasks.
struct RunningRace {
  var race: TargetRace
  /// Waits for the result, for ``XMPPStream/establish()``.
  var waiter: CheckedContinuation<Result<XMPPStream.Negotiated, XMPPError>, Never>?
  /// The tasks that connect to targets and limit their time.
  var dialing: [Int: Task<Void, Never>] = [:]
  var limits: [Int: Scheduled<Void>] = [:]
  var nextDue: Scheduled<Void>?
  var contenders: [Int: StreamConnection] = [:]
  /// The contender for which the stream acts at present.
  var acting: Int?
  var winner: Int?

  var channels: [any Channel] { contenders.values.map(\.channel) }

  /// Prevents further output on all connections.
  mutating func silence() { for number in contenders.keys { contenders[number]?.isOutputOpen = false } }

  fileprivate mutating func forgetLosers() {
    dialing = [:]
    limits = [:]
    contenders = [:]
  }
}

extension XMPPStream {
  /// Tries targets until a negotiation has ended or no target can be used.
  ///
  /// - Parameter elsewhere: the number of targets, at the front, to which a server has redirected.
  func race(_ targets: [ServerTarget], elsewhere: Int) async -> Result<Negotiated, XMPPError> {
    await withCheckedContinuation { waiter in
      establishment.race = RunningRace(race: TargetRace(targets, elsewhere: elsewhere), waiter: waiter)
      nextIsDue()
    }
  }

  /// Ends the race, with or without a winner.
  func endRace(_ result: Result<Negotiated, XMPPError>) {
    disband()
    let waiter = establishment.race?.waiter
    establishment.race?.waiter = nil
    if case .failure(let error) = result, let winner = establishment.race?.winner {
      waiter?.resume(returning: .failure(marked(error, winner)))
    } else {
      waiter?.resume(returning: result)
    }
  }

  private func nextIsDue() {
    guard let action = establishment.race?.race.due() else { return }
    perform(action)
  }

  private func perform(_ action: TargetRace.Action) {
    switch action {
    case .wait: break
    case .fail(let error): endRace(.failure(error))
    case .start(let number, let target):
      establishment.target = target
      report(.step(.linking(target)))
      let dialing = Task { await self.dial(target, number) }
      let limit = establishment.race?.race.limit.map { limit in
        eventLoop.scheduleTask(in: limit) { self.assumeIsolated { $0.giveUp(number, after: limit) } }
      }
      let next = establishment.race?.race.delay(after: number).map { delay in
        eventLoop.scheduleTask(in: delay) { self.assumeIsolated { $0.nextIsDue() } }
      }
      establishment.race?.dialing[number] = dialing
      establishment.race?.limits[number] = limit
      establishment.race?.nextDue?.cancel()
      establishment.race?.nextDue = next
    }
  }

  private func giveUp(_ number: Int, after limit: TimeAmount) {
    guard let target = establishment.race?.race[number] else { return }
    let stage = establishment.race?.contenders[number]?.negotiator?.stage ?? .connect
    let seconds = limit.nanoseconds / 1_000_000_000
    failed(
      number,
      XMPPError(.connectTimeout, stage: stage, .says(.noTLSInTime, target, seconds)),
      isSilent: true)
  }

  private func failed(_ number: Int, _ error: XMPPError, isSilent: Bool = false) {
    establishment.race?.dialing.removeValue(forKey: number)?.cancel()
    establishment.race?.limits.removeValue(forKey: number)?.cancel()
    let contender = establishment.race?.contenders.removeValue(forKey: number)
    contender?.close()
    let failure = marked(error, number)
    guard let action = establishment.race?.race.failed(number, failure, isSilent: isSilent) else { return }
    // A redirection takes precedence.
    if error.otherHost != nil { return endRace(.failure(error)) }
    perform(action)
  }

  /// Marks an error at a redirection target that occurred before the account was named.
  private func marked(_ error: XMPPError, _ number: Int) -> XMPPError {
    var error = error
    let isBeforeLogin = [.dns, .connect, .tls, .stream].contains(error.stage)
    error.isElsewhere =
      isBeforeLogin
      && (establishment.redirections > 0 || establishment.race?.race.isElsewhere(number) == true)
    return error
  }

  // MARK: Connections

  private func dial(_ target: ServerTarget, _ number: Int) async {
    do throws(XMPPError) { try await connect(to: target, number) } catch {
      if establishment.race?.dialing[number] != nil, establishment.race?.contenders[number] == nil,
        establishment.race?.winner == nil
      {
        failed(number, error)
      }
    }
  }

  private func connect(to target: ServerTarget, _ number: Int) async throws(XMPPError) {
    let password = try await configuration.proxyPassword?()
    let settings = configuration.tlsConfiguration(for: target)
    do throws(TransportError) {
      // Reads certificates from files.
      let tlsContext = try await Self.onThread { () throws(TransportError) in
        try TLSContext.shared(settings)
      }
      guard case .connecting = state, establishment.race?.dialing[number] != nil else { return }
      _ = try await TCPConnector().connect(
        to: target, through: configuration.proxy, password: password?.revealed(), on: eventLoop,
        timeout: establishment.race?.race.limit ?? configuration.timeout
      ) { channel in try self.assumeIsolated { try $0.begin(on: channel, target, tlsContext, number) } }
    } catch {
      throw XMPPError(transportError: error)
    }
  }

  /// Starts the negotiation on a new connection before anything is read from it.
  private func begin(
    on channel: any Channel, _ target: ServerTarget, _ tlsContext: TLSContext, _ number: Int
  ) throws {
    guard case .connecting = state, establishment.race?.dialing[number] != nil,
      establishment.race?.winner == nil
    else {
      throw CancellationError()
    }
    try channel.pipeline.syncOperations.addHandler(
      StreamChannelHandler(self, number, in: establishment.redirections))
    let contender = StreamConnection(
      channel, to: target, tlsContext, StreamNegotiator(negotiation(with: target)), configuration.limits)
    establishment.race?.contenders[number] = contender
    act(for: number, in: establishment.redirections) { $0.negotiate(.connected) }
  }

  // MARK: Acting for one contender

  /// Handles an event of a connection of the race that began after this number of redirections.
  func act(for number: Int, in race: Int, _ happening: (isolated XMPPStream) -> Void) {
    guard race == establishment.redirections else { return }
    if establishment.race?.winner == number || establishment.race?.acting == number { return happening(self) }
    guard establishment.race?.acting == nil, let contender = establishment.race?.contenders[number] else {
      return
    }
    establishment.race?.acting = number
    connection = contender
    establishment.target = contender.target
    happening(self)
    establishment.race?.acting = nil
    // The contender may have won, or the stream may have ended.
    guard establishment.race?.winner == nil, establishment.race?.contenders[number] != nil,
      let left = connection
    else {
      return
    }
    connection = nil
    establishment.race?.contenders[number] = left
    if case .ended(.failure(let error)) = left.negotiation { failed(number, error) }
  }

  /// Makes the current contender, which has completed TLS, the stream's connection.
  func win() {
    guard let number = establishment.race?.acting, establishment.race?.winner == nil else { return }
    establishment.race?.winner = number
    establishment.race?.contenders[number] = nil
    disband()
  }

  /// Closing a connection may cause an event on another one at once.
  private func disband() {
    guard let race = establishment.race else { return }
    establishment.race?.forgetLosers()
    race.nextDue?.cancel()
    for (number, task) in race.dialing where number != race.winner { task.cancel() }
    for limit in race.limits.values { limit.cancel() }
    for loser in race.contenders.values { loser.close() }
  }

  var isInRace: Bool { establishment.race?.acting != nil && establishment.race?.winner == nil }
}
