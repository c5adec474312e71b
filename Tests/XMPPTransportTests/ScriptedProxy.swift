import NIOCore
import NIOPosix
import Testing

/// A proxy on a loopback port that plays one script to each client, and is an echo after that.
final class ScriptedProxy: Sendable {
  /// Not an enum with its bytes inside: the address sanitizer does not see the tagged pointers of one that
  /// is still alive when the process ends, and calls them leaked.
  struct Step: Sendable, CustomTestStringConvertible {
    enum Kind { case expect, send, flood, close }

    let kind: Kind
    let bytes: [UInt8]

    /// The client sends exactly this.
    static func expect(_ bytes: [UInt8]) -> Step { Step(kind: .expect, bytes: bytes) }
    static func send(_ bytes: [UInt8]) -> Step { Step(kind: .send, bytes: bytes) }
    static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
    /// Sends this again and again until the client hangs up.
    static func flood(_ bytes: [UInt8]) -> Step { Step(kind: .flood, bytes: bytes) }
    static let close = Step(kind: .close, bytes: [])

    var testDescription: String { "\(kind) \(bytes.prefix(40))" }
  }

  private final class Player: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var steps: ArraySlice<Step>
    private var input: [UInt8] = []
    /// All that the client has sent, up to its end.
    private let seen: EventLoopPromise<[UInt8]>
    private var all: [UInt8] = []

    init(_ steps: [Step], _ seen: EventLoopPromise<[UInt8]>) {
      self.steps = steps[...]
      self.seen = seen
    }

    func channelActive(context: ChannelHandlerContext) { play(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let buffer = unwrapInboundIn(data)
      all += buffer.readableBytesView
      if steps.isEmpty { return context.writeAndFlush(data, promise: nil) }
      input += buffer.readableBytesView
      play(context)
    }

    func channelInactive(context: ChannelHandlerContext) { seen.succeed(all) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func play(_ context: ChannelHandlerContext) {
      while let step = steps.first {
        switch step.kind {
        case .expect:
          guard input.count >= step.bytes.count else { return }
          guard input.starts(with: step.bytes) else { return context.close(promise: nil) }
          input.removeFirst(step.bytes.count)
        case .send: context.writeAndFlush(NIOAny(ByteBuffer(bytes: step.bytes)), promise: nil)
        case .flood: return flood(step.bytes, context)
        case .close: return context.close(promise: nil)
        }
        steps.removeFirst()
      }
    }

    private func flood(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
      let written = context.eventLoop.makePromise(of: Void.self)
      context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: written)
      written.futureResult.assumeIsolated().whenSuccess {
        context.eventLoop.assumeIsolated().execute { self.flood(bytes, context) }
      }
    }
  }

  let port: Int
  private let channel: any Channel
  private let seen: EventLoopPromise<[UInt8]>

  init(_ steps: [Step]) async throws {
    let seen = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: [UInt8].self)
    self.seen = seen
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Player(steps, seen))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
  }

  /// What the first client has sent when it hangs up.
  var received: [UInt8] { get async throws { try await seen.futureResult.get() } }

  func stop() async throws {
    try await channel.close()
    seen.succeed([])
  }
}
