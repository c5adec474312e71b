import NIOCore
import XMPPTransport

/// Passes the events of the channel to the stream, one at a time, on the same event loop.
///
/// When a write fails, the channel is read to its end at once, even if the stream is writing an answer to what it is
/// reading.
final class StreamChannelHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private enum Happening {
    case encrypted(TLSInfo)
    case received(ByteBuffer)
    case broke(XMPPError)
  }

  /// A stream without references ends.
  private weak let stream: XMPPStream?
  /// The number of this connection, and of the race to which it belongs.
  private let number: Int
  private let race: Int
  private var happenings = CircularBuffer<Happening>()
  private var isTelling = false

  init(_ stream: XMPPStream, _ number: Int, in race: Int) {
    self.stream = stream
    self.number = number
    self.race = race
  }

  private func tell(_ happening: Happening) {
    happenings.append(happening)
    if isTelling { return }
    isTelling = true
    defer { isTelling = false }
    while let happening = happenings.popFirst() {
      guard let stream else { return happenings.removeAll() }
      stream.assumeIsolated { [number, race] stream in
        stream.act(for: number, in: race) { stream in
          switch happening {
          case .encrypted(let info): stream.encrypted(info)
          case .received(let buffer): stream.received(buffer)
          case .broke(let error): stream.broke(error)
          }
        }
      }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    tell(.received(unwrapInboundIn(data)))
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let completed = event as? TLSHandshakeCompleted {
      tell(.encrypted(completed.info))
    } else if let received = event as? TLSSessionReceived {
      stream?.configuration.onTLSSession?(received.session)
    } else if let event = event as? ChannelEvent, event == .inputClosed {
      context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let isWritable = context.channel.isWritable
    stream?.assumeIsolated { [number, race] stream in
      stream.act(for: number, in: race) { $0.writabilityChanged(to: isWritable) }
    }
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let failure =
      (error as? TransportError).map(XMPPError.init(transportError:))
      ?? XMPPError(.networkError, stage: .stream, TransportError(ofBroken: error).reason)
    tell(.broke(failure))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    tell(.broke(XMPPError(.networkError, stage: .stream, .says(.closedByPeer))))
    context.fireChannelInactive()
  }
}
