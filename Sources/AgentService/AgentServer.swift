import AgentProtocol
import AgentStore
import AgentSystem
import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import XMPPTransport

/// Listens on the agent's socket and serves clients until it is stopped or not needed any more.
final class AgentServer: Sendable {
  /// The maximum number of clients whose requests are carried out at a time (``Places``).
  static let maximumClients = 1024
  /// The maximum number of connections. Further ones are refused with an error and closed. Each connection buffers at
  /// most a line (``LineFramer/maximumLine``) and its events.
  static let maximumConnections = 4096
  /// Descriptors reserved for everything else: sessions, the store, child processes.
  private static let otherDescriptors = 512
  /// The part of them that stays free while clients connect.
  private static let reserve = 24

  private struct State {
    var clients = 0
    var nextClient: UInt64 = 1
    var idle: IdleExit
    var timer: Scheduled<Void>?
    var listener: Listener?
  }

  /// The listening socket and the identity of its file.
  private struct Listener {
    let channel: any Channel
    let file: FileIdentity?
  }

  private let lock: AgentLock
  private let paths: AgentPaths
  private let hub: EventHub
  private let store: LocalStore?
  private let group: any EventLoopGroup
  private let logger: Logger
  private let eventBuffer: Int
  private let owner: uid_t
  let places: Places
  private let maximumConnections: Int
  private let state: NIOLockedValueBox<State>
  private let connections: AsyncStream<ClientConnection.Channel>
  private let connected: AsyncStream<ClientConnection.Channel>.Continuation

  /// Creates a server that starts to listen in ``run(_:)``.
  ///
  /// - Parameters:
  ///   - lock: the agent's lock, held for the life of the server.
  ///   - store: the store from which a watcher's missed messages are read.
  ///   - eventBuffer: the number of events that may wait for a client before it is disconnected.
  ///   - owner: the user whose clients are served.
  ///   - clients: the maximum number of clients whose requests are carried out at a time.
  ///   - connections: the maximum number of connections, if the system provides the descriptors.
  init(
    lock: AgentLock, hub: EventHub, store: LocalStore? = nil, logger: Logger,
    group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, eventBuffer: Int = 1000,
    owner: uid_t = geteuid(), idle: IdleExit = IdleExit(started: .now),
    clients: Int = maximumClients, connections: Int = maximumConnections
  ) {
    self.lock = lock
    paths = lock.paths
    self.hub = hub
    self.store = store
    self.logger = logger
    self.group = group
    self.eventBuffer = eventBuffer
    self.owner = owner
    places = Places(maximum: clients)
    let limit = DescriptorLimit.raise(to: connections + Self.otherDescriptors)
    maximumConnections = max(1, min(connections, max(limit - Self.otherDescriptors, limit / 4)))
    state = NIOLockedValueBox(State(idle: idle))
    (self.connections, connected) = AsyncStream.makeStream()
  }

  /// The number of connected clients.
  var clients: Int { state.withLockedValue { $0.clients } }

  /// Sets the number of accounts that are logged in or about to be; 1 may stand for several. The agent stays while
  /// there is one.
  func update(accounts: Int) { update { $0.update(accounts: accounts, at: .now) } }

  /// Ends ``run(_:)``.
  func stop() { connected.finish() }

  /// Serves clients. Returns after ``stop()``, when the task is cancelled, or when the agent is not needed any more.
  ///
  /// - Parameters:
  ///   - whenGone: called once per client, when its connection and its running request have ended.
  ///   - onListening: called when the socket accepts connections.
  func run(
    _ methods: MethodTable, whenGone: @escaping @Sendable (ClientHandle) async -> Void,
    onListening: @Sendable () -> Void = {}
  ) async throws(Failure) {
    let listener = try await listen()
    state.withLockedValue { $0.listener = listener }
    defer { lock.removeFiles() }
    // The socket may have been removed before its identity was recorded.
    _ = try await restore()
    logger.info("listening on \(paths.socket)")
    onListening()
    update { _ in }
    await withTaskCancellationHandler {
      // This task is not cancelled, because every accepted connection has to be ended.
      await Task { await self.serveClients(methods, whenGone) }.value
    } onCancel: {
      stop()
    }
    state.withLockedValue { $0.timer?.cancel() }
    logger.info("stopped listening")
  }

  /// Listens again if the socket file was removed; returns whether it was.
  func restore() async throws(Failure) -> Bool {
    guard let old = state.withLockedValue({ $0.listener }) else { return false }
    if let file = old.file, file == FileIdentity(paths.socket) { return false }
    // Closing the listener removes the file at its path.
    try? await old.channel.close()
    let new = try await listen()
    let isNeeded = state.withLockedValue { state in
      guard state.listener != nil else { return false }
      state.listener = new
      return true
    }
    if !isNeeded { try? await new.channel.close() }
    return isNeeded
  }

  private func listen() async throws(Failure) -> Listener {
    try lock.removeStaleSocket()
    do {
      let listener = try await ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 1024)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let client = try ClientConnection.Channel(wrappingChannelSynchronously: channel)
            let whenActive = ActiveHandler {
              if case .terminated = self.connected.yield(client) { Task { await self.refuse(client, nil) } }
            }
            try channel.pipeline.syncOperations.addHandler(whenActive, position: .first)
          }
        }
        .bind(unixDomainSocketPath: paths.socket).get()
      // Until now the directory has kept other users out.
      if chmod(paths.socket, 0o600) != 0, errno != ENOENT { throw Errno.last }
      try lock.writePID()
      return Listener(channel: listener, file: FileIdentity(paths.socket))
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(.databaseError, stage: .store, detail: .about(paths.socket, "\(error)"))
    }
  }

  /// Accepts connections. Returns after ``stop()``, when the last client has gone.
  private func serveClients(
    _ methods: MethodTable, _ whenGone: @escaping @Sendable (ClientHandle) async -> Void
  ) async {
    await withDiscardingTaskGroup { clients in
      for await channel in connections {
        clients.addTask { await self.serve(channel, methods, whenGone) }
      }
      // From now on, another agent may wait for the lock.
      let listener = state.withLockedValue { state in
        defer { state.listener = nil }
        return state.listener
      }
      try? await listener?.channel.close()
      clients.cancelAll()
    }
  }

  private func serve(
    _ channel: ClientConnection.Channel, _ methods: MethodTable,
    _ whenGone: @escaping @Sendable (ClientHandle) async -> Void
  ) async {
    guard let peer = await peer(of: channel.channel) else {
      // The client only tested whether an agent listens.
      logger.debug("a client disconnected immediately")
      return await refuse(channel, nil)
    }
    guard peer.uid == owner else {
      logger.warning("a client of another user was refused")
      return await refuse(channel, nil)
    }
    let handle: ClientHandle? = state.withLockedValue { state in
      guard state.clients < maximumConnections, DescriptorReserve.leaves(Self.reserve) else { return nil }
      state.clients += 1
      defer { state.nextClient += 1 }
      return ClientHandle(id: state.nextClient)
    }
    guard let handle else {
      let clients = clients
      logger.warning("a client was refused: there are already \(clients) clients")
      return await refuse(channel, RPCError(Failure.tooManyClients(clients)))
    }
    update { _ in }
    await ClientConnection(
      handle: handle, channel: channel,
      methods: methods, hub: hub, store: store, places: places, clients: { self.clients }, whenGone: whenGone,
      eventBuffer: eventBuffer, logger: logger
    ).run()
    state.withLockedValue { $0.clients -= 1 }
    update { _ in }
  }

  private func refuse(_ channel: ClientConnection.Channel, _ error: RPCError?) async {
    try? await channel.executeThenClose { _, outbound in
      if let error { try await outbound.write(ByteBuffer(string: RPC.answer(.null, error))) }
    }
  }

  /// The credentials of the peer; nil where the connection has ended.
  private func peer(of channel: any Channel) async -> PeerCredentials? {
    guard let socket = channel as? any SocketOptionProvider else { return nil }
    let option = NIOBSDSocket.Option(rawValue: SO_PEERCRED)
    return try? await socket.unsafeGetSocketOption(level: .socket, name: option).get()
  }

  /// Updates the reasons to stay, and restarts the exit timer.
  private func update(_ change: (inout IdleExit) -> Void) {
    state.withLockedValue { state in
      state.idle.update(clients: state.clients, at: .now)
      change(&state.idle)
      state.timer?.cancel()
      state.timer = state.idle.deadline.map { deadline in
        group.next().scheduleTask(in: TimeAmount(ContinuousClock.now.duration(to: deadline))) {
          self.endIfIdle()
        }
      }
    }
  }

  private func endIfIdle() {
    let due = state.withLockedValue { state in state.idle.deadline.map { $0 <= .now } ?? false }
    if due {
      logger.info("the agent is no longer needed")
      stop()
    }
  }
}

/// Reports when a connection becomes writable; data written earlier would be lost.
private final class ActiveHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let isActive: () -> Void

  init(_ isActive: @escaping () -> Void) { self.isActive = isActive }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    isActive()
  }
}
