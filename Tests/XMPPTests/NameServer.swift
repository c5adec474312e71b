import NIOCore
import NIOPosix
import XMPPTransport

/// A name server on a loopback port that knows SRV records and nothing else.
final class NameServer: Sendable {
  struct Record: Sendable {
    var priority: UInt16
    var port: Int
    var host = "localhost"
  }

  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let records: [String: [Record]]

    init(_ records: [String: [Record]]) { self.records = records }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let question = unwrapInboundIn(data)
      let bytes = Array(question.data.readableBytesView)
      var labels: [String] = []
      var index = 12
      while index < bytes.count, bytes[index] > 0 {
        let length = Int(bytes[index])
        labels.append(String(decoding: bytes[(index + 1)...].prefix(length), as: UTF8.self))
        index += length + 1
      }
      guard bytes.count >= index + 5 else { return }
      let found = records[labels.joined(separator: ".")] ?? []
      var answer = ByteBuffer(bytes: bytes[0..<2])
      answer.writeInteger(found.isEmpty ? 0x8183 : 0x8180, as: UInt16.self)
      for count in [1, UInt16(found.count), 0, 0] { answer.writeInteger(count) }
      answer.writeBytes(bytes[12..<index + 5])
      for record in found {
        var name = ByteBuffer()
        for label in record.host.split(separator: ".") {
          name.writeInteger(UInt8(label.utf8.count))
          name.writeString(String(label))
        }
        name.writeInteger(0 as UInt8)
        // The name of the question, SRV, IN, a minute.
        for word in [0xC00C, 33, 1, 0, 60, UInt16(6 + name.readableBytes)] { answer.writeInteger(word) }
        for word in [record.priority, 0, UInt16(record.port)] { answer.writeInteger(word) }
        answer.writeBuffer(&name)
      }
      context.writeAndFlush(
        wrapOutboundOut(AddressedEnvelope(remoteAddress: question.remoteAddress, data: answer)), promise: nil)
    }
  }

  private let channel: any Channel

  init(_ records: [String: [Record]]) async throws {
    channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Responder(records))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  var resolver: SRVResolver {
    SRVResolver(
      nameServer: .init(address: "127.0.0.1", port: UInt16(channel.localAddress?.port ?? 0)),
      timeout: .seconds(50))
  }

  func stop() async throws { try await channel.close().get() }
}
