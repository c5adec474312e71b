import NIOCore
import NIOPosix
import Testing

/// A proxy on a loopback port that plays one script to each client, and is an echo after that.
final class ScriptedProxy: Sendable {
  enum Step: Sendable, CustomTestStringConvertible {
    /// The client sends exactly this.
    case expect([UInt8])
    case send([UInt8])
    /// Sends this again and again until the client hangs up.
    case flood([UInt8])
    case close

    static func send(_ text: String) -> Step { .send(Array(text.utf8)) }

    var testDescription: String {
      switch self {
      case .expect(let bytes): "expect \(bytes.count) octets"
      case .send(let bytes): "send \(bytes.prefix(40))"
      case .flood(let bytes): "flood \(bytes.prefix(4))"
      case .close: "close"
      }
    }
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
        switch step {
        case .expect(let bytes):
          guard input.count >= bytes.count else { return }
          guard input.starts(with: bytes) else { return context.close(promise: nil) }
          input.removeFirst(bytes.count)
        case .send(let bytes): context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
        case .flood(let bytes): return flood(bytes, context)
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
