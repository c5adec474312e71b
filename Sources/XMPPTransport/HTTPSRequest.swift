import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

/// A request to a server's web API: a POST over TLS on a new connection (RFC 9110, RFC 9112).
public struct HTTPSRequest: Sendable {
  /// The answer of the server.
  public struct Answer: Sendable {
    public var status: Int
    /// The body, up to ``HTTPSRequest/maximumAnswer`` octets.
    public var body: [UInt8]
  }

  /// The maximum number of octets of an answer that are kept.
  public static let maximumAnswer = 1 << 16

  public var host: String
  public var port: Int
  /// The path with its query; it begins with a slash.
  public var path: String
  public var user: String?
  public var password: String?
  public var contentType = "application/json"
  public var body: [UInt8] = []

  /// Returns nil for any other URL.
  ///
  /// - Parameter url: `https://host[:port]/path`.
  public init?(url: String) {
    guard let parts = URLComponents(string: url), parts.scheme?.lowercased() == "https", parts.user == nil,
      parts.fragment == nil, let host = parts.host, !host.isEmpty, (1...65_535).contains(parts.port ?? 443)
    else { return nil }
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    port = parts.port ?? 443
    path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    if let query = parts.percentEncodedQuery { path += "?" + query }
  }

  /// Sends the request. The certificate is verified according to `configuration`.
  ///
  /// - Throws: The errors of ``TCPConnector`` and ``TLSHandler``; `timedOut` if the whole request takes too long.
  public func send(
    _ configuration: TLSConfiguration, timeout: TimeAmount
  ) async throws(TransportError) -> Answer {
    let context = try TLSContext.shared(configuration)
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let answer = eventLoop.makePromise(of: Answer.self)
    let target = ServerTarget(host: host, port: port, tls: .direct)
    let limit = eventLoop.scheduleTask(in: timeout) {
      answer.fail(TransportError(.timedOut, .says(.answerTimedOut, target)))
    }
    defer { limit.cancel() }
    do {
      let channel = try await TCPConnector().connect(to: target, on: eventLoop, timeout: timeout) { channel in
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(TLSHandler(context))
        try pipeline.addHTTPClientHandlers()
        try pipeline.addHandler(HTTPAnswerHandler(answer))
        self.write(to: pipeline)
      }
      defer { channel.close(promise: nil) }
      return try await answer.futureResult.get()
    } catch {
      answer.fail(error)
      throw TransportError(error, of: target)
    }
  }

  private func write(to pipeline: ChannelPipeline.SynchronousOperations) {
    var headers: HTTPHeaders = [
      "Host": port == 443 ? host : "\(host):\(port)", "Connection": "close", "Content-Type": contentType,
      "Content-Length": String(body.count),
    ]
    if let user { headers.add(name: "Authorization", value: HTTPHeaders.basic(user, password)) }
    let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path, headers: headers)
    pipeline.write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
    pipeline.write(NIOAny(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    pipeline.writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: nil)
  }
}

extension HTTPHeaders {
  /// Basic authentication with user and password (RFC 7617).
  static func basic(_ user: String, _ password: String?) -> String {
    "Basic " + Data("\(user):\(password ?? "")".utf8).base64EncodedString()
  }
}

/// Collects the answer of a web API.
private final class HTTPAnswerHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let promise: EventLoopPromise<HTTPSRequest.Answer>
  private var answer: HTTPSRequest.Answer?

  init(_ promise: EventLoopPromise<HTTPSRequest.Answer>) { self.promise = promise }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): answer = HTTPSRequest.Answer(status: Int(head.status.code), body: [])
    case .body(let part):
      let room = HTTPSRequest.maximumAnswer - (answer?.body.count ?? 0)
      answer?.body += part.readableBytesView.prefix(room)
      if part.readableBytes > room { end(context) }
    case .end: end(context)
    }
  }

  private func end(_ context: ChannelHandlerContext) {
    if let answer { promise.succeed(answer) }
    context.close(promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    promise.fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    promise.fail(ChannelError.eof)
    context.fireChannelInactive()
  }
}
