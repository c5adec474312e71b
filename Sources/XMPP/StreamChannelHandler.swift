import NIOCore
import XMPPTransport

/// Hands what happens on the channel to the stream, which runs on the same event loop.
final class StreamChannelHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let stream: XMPPStream

  init(_ stream: XMPPStream) { self.stream = stream }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    stream.assumeIsolated { $0.received(buffer) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let completed = event as? TLSHandshakeCompleted {
      stream.assumeIsolated { $0.encrypted(completed.info) }
    } else if let received = event as? TLSSessionReceived {
      stream.configuration.onTLSSession?(received.session)
    } else if let event = event as? ChannelEvent, event == .inputClosed {
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let isWritable = context.channel.isWritable
    stream.assumeIsolated { $0.writabilityChanged(to: isWritable) }
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let failure =
      (error as? TransportError).map(XMPPError.init(transportError:))
      ?? XMPPError(.networkError, stage: .stream, TransportError(ofBroken: error).message)
    stream.assumeIsolated { $0.broke(failure) }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    let failure = XMPPError(.networkError, stage: .stream, "the connection was closed by the other side")
    stream.assumeIsolated { $0.broke(failure) }
    context.fireChannelInactive()
  }
}
