import NIOCore
import XMPPTransport
import XMPPXML

// Connections to the servers of an account, up to TLS: the first that gets so far is the stream's, and only there is
// anything said about who comes. The others are closed.

/// A connection on its way to TLS.
struct Contender {
  let target: ServerTarget
  let tlsContext: TLSContext
  var channel: any Channel
  var parser: XMLStreamParser
  var negotiator: StreamNegotiator
  var negotiation: XMPPStream.Negotiation
  var isOutputOpen: Bool
}

/// The race that goes on, and what carries it out.
struct RunningRace {
  var race: TargetRace
  /// How it ended, for ``XMPPStream/establish()``.
  var waiter: CheckedContinuation<Result<XMPPStream.Negotiated, XMPPError>, Never>?
  /// What dials, and bounds, each target that is tried.
  var dialing: [Int: Task<Void, Never>] = [:]
  var limits: [Int: Scheduled<Void>] = [:]
  var nextDue: Scheduled<Void>?
  var contenders: [Int: Contender] = [:]
  /// The contender that is acted for just now.
  var acting: Int?
  var winner: Int?

  var channels: [any Channel] { contenders.values.map(\.channel) }

  /// Nothing more is said on any connection.
  mutating func silence() { for number in contenders.keys { contenders[number]?.isOutputOpen = false } }

  /// Ends all but the winner, and gives those that are to be closed.
  fileprivate mutating func disband() -> [Contender] {
    nextDue?.cancel()
    for (number, task) in dialing where number != winner { task.cancel() }
    for limit in limits.values { limit.cancel() }
    defer {
      dialing = [:]
      limits = [:]
      contenders = [:]
    }
    return Array(contenders.values)
  }
}

extension Contender {
  fileprivate func close() {
    if isOutputOpen { channel.writeAndFlush(ByteBuffer(bytes: StreamHeader.close), promise: nil) }
    channel.close(promise: nil)
  }
}

extension XMPPStream {
  /// Tries targets until a negotiation has ended, or none of them can be used.
  ///
  /// - Parameter elsewhere: how many of them are where a server has sent to.
  func race(_ targets: [ServerTarget], elsewhere: Int) async -> Result<Negotiated, XMPPError> {
    await withCheckedContinuation { waiter in
      running = RunningRace(race: TargetRace(targets, elsewhere: elsewhere), waiter: waiter)
      nextIsDue()
    }
  }

  /// The race is over, with or without a winner.
  func endRace(_ result: Result<Negotiated, XMPPError>) {
    disband()
    let waiter = running?.waiter
    running?.waiter = nil
    if case .failure(let error) = result, let winner = running?.winner {
      waiter?.resume(returning: .failure(marked(error, winner)))
    } else {
      waiter?.resume(returning: result)
    }
  }

  private func nextIsDue() {
    guard let action = running?.race.due() else { return }
    perform(action)
  }

  private func perform(_ action: TargetRace.Action) {
    switch action {
    case .wait: break
    case .fail(let error): endRace(.failure(error))
    case .start(let number, let target):
      self.target = target
      report(.step(.linking(target)))
      let dialing = Task { await self.dial(target, number) }
      let limit = running?.race.limit.map { limit in
        eventLoop.scheduleTask(in: limit) { self.assumeIsolated { $0.giveUp(number, after: limit) } }
      }
      let next = running?.race.delay(after: number).map { delay in
        eventLoop.scheduleTask(in: delay) { self.assumeIsolated { $0.nextIsDue() } }
      }
      running?.dialing[number] = dialing
      running?.limits[number] = limit
      running?.nextDue?.cancel()
      running?.nextDue = next
    }
  }

  private func giveUp(_ number: Int, after limit: TimeAmount) {
    guard let target = running?.race[number] else { return }
    let stage = running?.contenders[number]?.negotiator.stage ?? .connect
    let seconds = limit.nanoseconds / 1_000_000_000
    failed(
      number,
      XMPPError(.connectTimeout, stage: stage, "\(target) did not get as far as TLS within \(seconds) s"),
      isSilent: true)
  }

  private func failed(_ number: Int, _ error: XMPPError, isSilent: Bool = false) {
    running?.dialing.removeValue(forKey: number)?.cancel()
    running?.limits.removeValue(forKey: number)?.cancel()
    let contender = running?.contenders.removeValue(forKey: number)
    contender?.close()
    let failure = marked(error, number)
    guard let action = running?.race.failed(number, failure, isSilent: isSilent) else { return }
    // Where one sends elsewhere, that is where to go.
    if error.otherHost != nil { return endRace(.failure(error)) }
    perform(action)
  }

  /// What went wrong where a server had sent to, before anything was known of an account there.
  private func marked(_ error: XMPPError, _ number: Int) -> XMPPError {
    var error = error
    let isBeforeLogin = [.dns, .connect, .tls, .stream].contains(error.stage)
    error.isElsewhere = isBeforeLogin && (redirections > 0 || running?.race.isElsewhere(number) == true)
    return error
  }

  // MARK: Connections

  private func dial(_ target: ServerTarget, _ number: Int) async {
    do throws(XMPPError) { try await connect(to: target, number) } catch {
      if running?.dialing[number] != nil, running?.contenders[number] == nil, running?.winner == nil {
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
      guard case .connecting = state, running?.dialing[number] != nil else { return }
      _ = try await TCPConnector().connect(
        to: target, through: configuration.proxy, password: password?.revealed(), on: eventLoop,
        timeout: running?.race.limit ?? configuration.timeout
      ) { channel in try self.assumeIsolated { try $0.begin(on: channel, target, tlsContext, number) } }
    } catch {
      throw XMPPError(transportError: error)
    }
  }

  /// Begins as soon as the connection is there and before anything is read from it.
  private func begin(
    on channel: any Channel, _ target: ServerTarget, _ tlsContext: TLSContext, _ number: Int
  ) throws {
    guard case .connecting = state, running?.dialing[number] != nil, running?.winner == nil else {
      throw CancellationError()
    }
    try channel.pipeline.syncOperations.addHandler(StreamChannelHandler(self, number, in: redirections))
    let contender = Contender(
      target: target, tlsContext: tlsContext, channel: channel,
      parser: XMLStreamParser(limits: configuration.limits),
      negotiator: StreamNegotiator(negotiation(with: target)), negotiation: .running, isOutputOpen: false)
    running?.contenders[number] = contender
    act(for: number, in: redirections) { $0.negotiate(.connected) }
  }

  // MARK: Acting for one

  /// Something has happened on a connection: that of a number, in the race before which the login was redirected so often.
  func act(for number: Int, in race: Int, _ happening: (isolated XMPPStream) -> Void) {
    guard race == redirections else { return }
    if running?.winner == number || running?.acting == number { return happening(self) }
    guard running?.acting == nil, let contender = running?.contenders[number] else { return }
    running?.acting = number
    enter(contender)
    happening(self)
    running?.acting = nil
    // It may have won, or the stream may be over.
    guard running?.winner == nil, running?.contenders[number] != nil, let left = leave(contender) else {
      return
    }
    running?.contenders[number] = left
    if case .ended(.failure(let error)) = left.negotiation { failed(number, error) }
  }

  /// The one that is acted for has got as far as TLS: it is the stream's connection from here on.
  func win() {
    guard let number = running?.acting, running?.winner == nil else { return }
    running?.winner = number
    running?.contenders[number] = nil
    disband()
  }

  /// Closing one may tell another something at once.
  private func disband() {
    let losers = running?.disband() ?? []
    for loser in losers { loser.close() }
  }

  var isInRace: Bool { running?.acting != nil && running?.winner == nil }

  private func enter(_ contender: Contender) {
    take(contender.channel)
    target = contender.target
    tlsContext = contender.tlsContext
    parser = contender.parser
    negotiator = contender.negotiator
    negotiation = contender.negotiation
    isOutputOpen = contender.isOutputOpen
  }

  /// The contender as it is now; nil where its connection is gone.
  private func leave(_ contender: Contender) -> Contender? {
    guard channel != nil, let negotiator else { return nil }
    var left = contender
    left.parser = parser
    left.negotiator = negotiator
    left.negotiation = negotiation
    left.isOutputOpen = isOutputOpen
    channel = nil
    self.negotiator = nil
    negotiation = .none
    isOutputOpen = false
    return left
  }
}
