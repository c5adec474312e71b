import NIOCore
import XMPPTransport
import XMPPXML

/// A connection to a server, and how far it has been negotiated.
struct StreamConnection {
  enum Negotiation {
    case running
    case ended(Result<XMPPStream.Negotiated, XMPPError>)
  }

  let target: ServerTarget
  let tlsContext: TLSContext
  let channel: any Channel
  private(set) var parser: XMLStreamParser
  /// Nil when the stream has been negotiated.
  var negotiator: StreamNegotiator?
  var negotiation = Negotiation.running
  var tls: TLSInfo?
  /// A header was sent, and its `</stream:stream>` was not.
  var isOutputOpen = false
  var isWritable = true
  var isReading = true

  private let limits: XMLStreamParser.Limits

  init(
    _ channel: any Channel, to target: ServerTarget, _ tlsContext: TLSContext, _ negotiator: StreamNegotiator,
    _ limits: XMLStreamParser.Limits
  ) {
    self.channel = channel
    self.target = target
    self.tlsContext = tlsContext
    self.negotiator = negotiator
    self.limits = limits
    parser = XMLStreamParser(limits: limits)
  }

  /// A stream that was opened gives way to the next one on the same connection, and is not closed (RFC 6120 §4.3.3).
  mutating func restart() {
    parser = XMLStreamParser(limits: limits)
    isOutputOpen = false
  }

  /// Closes the connection, and before it the stream, as both sides must (RFC 6120 §4.4).
  func close() {
    if isOutputOpen { channel.writeAndFlush(ByteBuffer(bytes: StreamHeader.close), promise: nil) }
    channel.close(promise: nil)
  }
}
