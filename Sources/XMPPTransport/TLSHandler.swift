import Glibc
import NIOCore

/// User inbound event: the TLS handshake is complete. Data that is written from now on is sent.
public struct TLSHandshakeCompleted: Sendable, Hashable {
  public var info: TLSInfo

  public init(info: TLSInfo) { self.info = info }
}

/// User inbound event: the server has issued a session that another connection can resume. The latest one is the best.
///
/// With TLS 1.2, it is fired before `TLSHandshakeCompleted`; with TLS 1.3, at any time after it.
public struct TLSSessionReceived: Sendable, Hashable {
  public var session: TLSSession

  public init(session: TLSSession) { self.session = session }
}

/// User inbound event: the peer has ended its side. It is fired once, before `ChannelEvent.inputClosed` or
/// `channelInactive`.
public enum TLSInputClosed: Sendable, Hashable {
  /// The peer sent close_notify, as required.
  case orderly
  /// The TCP connection ended without close_notify; an attacker on the path may have cut off the last data.
  case truncated
}

/// Secures a channel with TLS as a client.
///
/// Add it as the first handler, before the connection is established (direct TLS) or after the server has agreed to
/// STARTTLS. It starts the handshake when the channel is active, and fires `TLSHandshakeCompleted`. If the handshake or
/// the connection fails, it fires `errorCaught` with a `TransportError` and closes the channel.
public final class TLSHandler: ChannelDuplexHandler {
  public typealias InboundIn = ByteBuffer
  public typealias InboundOut = ByteBuffer
  public typealias OutboundIn = ByteBuffer
  public typealias OutboundOut = ByteBuffer

  private enum State {
    case idle, handshaking, open, inputClosed, failed
  }

  private let engine: TLSEngine
  private var state = State.idle
  private var outputClosed = false
  /// Whether a later handler waits for plaintext.
  private var readRequested = false
  /// Whether no plaintext has arrived yet, so that the server may be sending tickets.
  private var awaitsFirstPlaintext = true

  /// The number of plaintext octets in a record that combines several writes. Servers read this much at once.
  package static let sharedRecordSize = 8192

  /// The plaintext that waits for a flush or the handshake, with one buffer for each record.
  private var unsent = CircularBuffer<ByteBuffer>()
  private var unsentPromise: EventLoopPromise<Void>?
  private var flushRequested = false

  /// - Parameter session: An earlier session to resume, if the server still knows it.
  /// - Throws: `tlsFailed`, `invalidConfiguration`.
  public init(_ context: TLSContext, resuming session: TLSSession? = nil) throws(TransportError) {
    engine = try TLSEngine(context, resuming: session)
  }

  // MARK: Life of the channel

  public func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { startHandshake(context) }
  }

  public func handlerRemoved(context: ChannelHandlerContext) {
    failUnsent(ChannelError.ioOnClosedChannel)
  }

  public func channelActive(context: ChannelHandlerContext) {
    startHandshake(context)
    context.fireChannelActive()
  }

  public func channelInactive(context: ChannelHandlerContext) {
    inputEnded(context)
    state = .failed
    failUnsent(ChannelError.ioOnClosedChannel)
    context.fireChannelInactive()
  }

  public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .some(.inputClosed) = event as? ChannelEvent {
      let alreadyTold = state == .inputClosed
      inputEnded(context)
      if alreadyTold { return }
    }
    context.fireUserInboundEventTriggered(event)
  }

  // MARK: Inbound

  public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var ciphertext = unwrapInboundIn(data)
    var plaintext = context.channel.allocator.buffer(capacity: 0)
    do throws(TransportError) {
      // The input is processed in pieces, so that OpenSSL's buffers remain small.
      while state == .handshaking || state == .open,
        let piece = ciphertext.readSlice(length: min(ciphertext.readableBytes, 16_384)),
        piece.readableBytes > 0
      {
        try receive(piece, into: &plaintext, context)
      }
      deliver(&plaintext, context)
    } catch {
      deliver(&plaintext, context)
      fail(error, context)
    }
  }

  private func receive(
    _ piece: ByteBuffer, into plaintext: inout ByteBuffer, _ context: ChannelHandlerContext
  ) throws(TransportError) {
    try piece.withUnsafeReadableBytes { bytes throws(TransportError) in try engine.receive(bytes) }
    if state == .handshaking {
      let complete = try engine.handshake()
      sendCiphertext(context)
      guard complete, let info = engine.info else { return }
      state = .open
      tellSession(context)
      context.fireUserInboundEventTriggered(TLSHandshakeCompleted(info: info))
      encryptUnsent(context)
    }
    guard state == .open else { return }
    let result = try engine.read(into: &plaintext)
    sendCiphertext(context)
    tellSession(context)
    if case .closed = result {
      deliver(&plaintext, context)
      closeNotified(context)
    }
  }

  /// Makes the kernel acknowledge the received data now, rather than 40 ms later.
  ///
  /// Servers with OpenSSL always send tickets after a TLS 1.3 handshake. With Nagle's algorithm (RFC 1122 §4.2.3.4), a
  /// server delays its first answer until the tickets are acknowledged.
  private func acknowledgeAtOnce(_ context: ChannelHandlerContext) {
    guard let socket = context.channel as? any SocketOptionProvider else { return }
    _ = socket.unsafeSetSocketOption(
      level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_QUICKACK), value: Int32(1))
  }

  private func tellSession(_ context: ChannelHandlerContext) {
    guard let session = engine.popSession() else { return }
    context.fireUserInboundEventTriggered(TLSSessionReceived(session: session))
  }

  public func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    if state == .open, awaitsFirstPlaintext { acknowledgeAtOnce(context) }
    // Ciphertext without plaintext does not satisfy a handler that requests reads explicitly.
    if readRequested { context.read() }
  }

  private func deliver(_ plaintext: inout ByteBuffer, _ context: ChannelHandlerContext) {
    guard plaintext.readableBytes > 0 else { return }
    readRequested = false
    awaitsFirstPlaintext = false
    let whole = plaintext
    plaintext = context.channel.allocator.buffer(capacity: 0)
    context.fireChannelRead(wrapInboundOut(whole))
  }

  /// Handles the peer's close_notify. If half-closure is allowed, writing remains possible.
  private func closeNotified(_ context: ChannelHandlerContext) {
    guard state == .open else { return }
    state = .inputClosed
    context.fireUserInboundEventTriggered(TLSInputClosed.orderly)
    if (try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)) == true {
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    } else {
      closeOutput(context)
      context.close(promise: nil)
    }
  }

  /// Handles the end of the TCP connection's input.
  private func inputEnded(_ context: ChannelHandlerContext) {
    switch state {
    case .handshaking:
      fail(TransportError(.tlsClosed, .says(.closedInHandshake)), context)
    case .open:
      state = .inputClosed
      context.fireUserInboundEventTriggered(TLSInputClosed.truncated)
    case .idle, .inputClosed, .failed: break
    }
  }

  // MARK: Outbound

  public func read(context: ChannelHandlerContext) {
    readRequested = true
    context.read()
  }

  public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard !outputClosed, state != .failed else {
      promise?.fail(ChannelError.outputClosed)
      return
    }
    var plaintext = unwrapOutboundIn(data)
    if let last = unsent.indices.last,
      unsent[last].readableBytes + plaintext.readableBytes <= Self.sharedRecordSize
    {
      unsent[last].writeBuffer(&plaintext)
    } else {
      unsent.append(plaintext)
    }
    unsentPromise.setOrCascade(to: promise)
  }

  public func flush(context: ChannelHandlerContext) {
    flushRequested = true
    encryptUnsent(context)
  }

  public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if mode != .input { closeOutput(context) }
    if mode == .all { state = state == .failed ? .failed : .inputClosed }
    context.close(mode: mode, promise: promise)
  }

  /// Encrypts and sends written data. A record ends where a write ends, unless the write exceeds a record.
  private func encryptUnsent(_ context: ChannelHandlerContext) {
    guard state == .open || state == .inputClosed, flushRequested, !outputClosed else { return }
    flushRequested = false
    let plaintext = unsent
    let promise = unsentPromise
    unsent = CircularBuffer()
    unsentPromise = nil
    do throws(TransportError) {
      for record in plaintext {
        try record.withUnsafeReadableBytes { bytes throws(TransportError) in try engine.write(bytes) }
      }
      sendCiphertext(context, promise: promise)
    } catch {
      promise?.fail(error)
      fail(error, context)
    }
  }

  private func closeOutput(_ context: ChannelHandlerContext) {
    guard !outputClosed else { return }
    flushRequested = true
    encryptUnsent(context)
    outputClosed = true
    failUnsent(ChannelError.outputClosed)
    engine.close()
    sendCiphertext(context)
  }

  private func sendCiphertext(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
    var ciphertext = context.channel.allocator.buffer(capacity: 0)
    engine.drainCiphertext(into: &ciphertext)
    if ciphertext.readableBytes > 0 {
      context.writeAndFlush(wrapOutboundOut(ciphertext), promise: promise)
    } else {
      promise?.succeed()
    }
  }

  // MARK: Beginning and failure

  private func startHandshake(_ context: ChannelHandlerContext) {
    guard state == .idle else { return }
    state = .handshaking
    do throws(TransportError) {
      _ = try engine.handshake()
      sendCiphertext(context)
    } catch {
      fail(error, context)
    }
  }

  private func fail(_ error: TransportError, _ context: ChannelHandlerContext) {
    guard state != .failed else { return }
    state = .failed
    outputClosed = true
    sendCiphertext(context)  // The alert tells the peer the reason.
    failUnsent(error)
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  private func failUnsent(_ error: any Error) {
    unsent = CircularBuffer()
    unsentPromise?.fail(error)
    unsentPromise = nil
  }
}

// A handler is confined to the event loop of its channel.
@available(*, unavailable)
extension TLSHandler: Sendable {}
