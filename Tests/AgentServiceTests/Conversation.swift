import AgentProtocol
import Glibc
import Logging
import NIOCore
import NIOPosix
import TestSupport

@testable import AgentService
@testable import AgentStore
@testable import AgentSystem

/// A client of the agent's socket that may send anything.
struct Conversation {
  private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
  private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private var framer = LineFramer(limit: 1 << 26)
  /// How the connection ended, where it was not closed in order.
  private var end: (any Error)?

  /// Connects as soon as someone listens at `path`.
  static func with<Result>(
    _ path: String, _ body: (inout Conversation) async throws -> Result
  ) async throws -> Result {
    let channel = try await connect(path)
    return try await channel.executeThenClose { inbound, outbound in
      var conversation = Conversation(
        channel: channel, inbound: inbound.makeAsyncIterator(), outbound: outbound)
      return try await body(&conversation)
    }
  }

  private static func connect(_ path: String) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
    while true {
      try Task.checkCancellation()
      do {
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .channelOption(.allowRemoteHalfClosure, value: true)
          .connect(unixDomainSocketPath: path) { channel in
            channel.eventLoop.makeCompletedFuture {
              try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true))
            }
          }
      } catch let error as IOError where [ENOENT, ECONNREFUSED, EAGAIN].contains(error.errnoCode) {
        try await Task.sleep(for: .milliseconds(2))
      }
    }
  }

  private init(
    channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>,
    inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
    outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.channel = channel
    self.inbound = inbound
    self.outbound = outbound
  }

  func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }
  func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

  /// Says that nothing more will be sent.
  func finish() { outbound.finish() }

  /// The next line; `nil` when the agent has closed the connection, however it did.
  mutating func line() async -> String? {
    while true {
      if let line = try? framer.next() { return line }
      do {
        guard let chunk = try await inbound.next() else { return nil }
        framer.append(chunk.readableBytesView)
      } catch {
        end = error
        return nil
      }
    }
  }

  mutating func reply() async throws -> RPCReply {
    guard let line = await line() else { throw Closed(error: end) }
    return try RPCReply(line: line)
  }

  mutating func call<Method: AgentMethod>(
    _ method: Method.Type, _ parameters: Method.Parameters
  ) async throws -> Method.Result {
    try await send(RPC.request(method, id: .number(1), parameters))
    return try await reply().result(of: method)
  }

  /// The connection ended where an answer was expected.
  struct Closed: Error { let error: (any Error)? }
}

/// An agent with the methods of a ``FakeService``, running while `body` does.
func withAgent(
  eventBuffer: Int = 1000, owner: uid_t = geteuid(), state: String = "/state",
  store: LocalStore? = nil, clients: Int = AgentServer.maximumClients,
  connections: Int = AgentServer.maximumConnections,
  _ body: (AgentPaths, EventHub, FakeService, AgentServer) async throws -> Void
) async throws {
  let directory = try TemporaryDirectory()
  let paths = AgentPaths(configuration: directory.path + "/config", state: directory.path + state)
  let hub = EventHub(cursor: 100)
  let server = try AgentServer(
    lock: AgentLock(paths), hub: hub, store: store,
    logger: AgentLog(path: directory.path + "/log", limit: 1 << 20).logger("test"),
    group: MultiThreadedEventLoopGroup.singleton, eventBuffer: eventBuffer, owner: owner,
    idle: IdleExit(started: .now, grace: .seconds(3600), linger: .seconds(3600)),
    clients: clients, connections: connections)
  let service = FakeService { server.stop() }
  try await withThrowingTaskGroup { group in
    group.addTask { try await server.run(service.methods, whenGone: service.leave) }
    try await body(paths, hub, service, server)
    server.stop()
    try await group.waitForAll()
  }
}
