import NIOCore
import XMPPTransport
import XMPPXML

/// A connection to a server and the state of its negotiation. The connection is closed when its last copy is gone.
struct StreamConnection {
  enum Negotiation {
    case running
    case ended(Result<XMPPStream.Negotiated, XMPPError>)
  }

  let target: ServerTarget
  let tlsContext: TLSContext
  private let line: Line
  private(set) var parser: XMLStreamParser
  /// The negotiator; nil when the negotiation is complete.
  var negotiator: StreamNegotiator?
  var negotiation = Negotiation.running
  var tls: TLSInfo?
  var isWritable = true
  var isReading = true

  private let limits: XMLStreamParser.Limits

  init(
    _ channel: any Channel, to target: ServerTarget, _ tlsContext: TLSContext, _ negotiator: StreamNegotiator,
    _ limits: XMLStreamParser.Limits
  ) {
    line = Line(channel)
    self.target = target
    self.tlsContext = tlsContext
    self.negotiator = negotiator
    self.limits = limits
    parser = XMLStreamParser(limits: limits)
  }

  var channel: any Channel { line.channel }

  /// Whether a header was sent and `</stream:stream>` was not.
  var isOutputOpen: Bool {
    get { line.isOutputOpen }
    nonmutating set { line.isOutputOpen = newValue }
  }

  /// Starts the next stream on the same connection; the old one is not closed (RFC 6120 §4.3.3).
  mutating func restart() {
    parser = XMLStreamParser(limits: limits)
    isOutputOpen = false
  }

  /// Closes the stream and then the channel, as both sides must (RFC 6120 §4.4).
  func close() { line.close() }

  private final class Line {
    let channel: any Channel
    var isOutputOpen = false

    init(_ channel: any Channel) { self.channel = channel }

    deinit { close() }

    func close() {
      if isOutputOpen { channel.writeAndFlush(ByteBuffer(bytes: StreamHeader.close), promise: nil) }
      isOutputOpen = false
      channel.close(promise: nil)
    }
  }
}
