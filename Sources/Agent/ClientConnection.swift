import AgentProtocol
import Logging
import NIOCore

/// One client of the agent: reads its lines, answers them in order, and sends it the events it watches.
struct ClientConnection: Sendable {
  typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  let handle: ClientHandle
  let channel: Channel
  let handler: AgentRequestHandler
  /// Events that may wait for this client before it is dropped.
  let eventBuffer: Int
  let logger: Logger

  /// Returns when the connection has ended.
  func run() async {
    do {
      try await channel.executeThenClose { inbound, outbound in
        // The connection may end while a request is being worked on: that request is cancelled then.
        await withTaskGroup { group in
          group.addTask {
            await serve(inbound, outbound)
            channel.channel.close(promise: nil)
          }
          group.addTask { try? await channel.channel.closeFuture.get() }
          await group.next()
          group.cancelAll()
          channel.channel.close(promise: nil)
        }
      }
    } catch {
      logger.debug("client \(handle.id): \(error)")
    }
  }

  private func serve(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async {
    await withDiscardingTaskGroup { pumps in
      var watching: EventHub.Subscription?
      do {
        var framer = LineFramer()
        for try await chunk in inbound {
          framer.append(chunk.readableBytesView)
          while let line = try framer.next() {
            var started: EventHub.Subscription?
            let outcome = await handler.handle(line, of: handle) { filter in
              let subscription = subscribe(filter)
              started = subscription
              return subscription.cursor
            }
            // What happened before the answer is told before it.
            await watching?.caughtUp()
            if let answer = outcome.answer { try await outbound.write(ByteBuffer(string: answer)) }
            if let started {
              watching?.cancel()
              watching = started
              pumps.addTask { await pump(started, outbound) }
            }
            if outcome.stops { await handler.service.stop() }
          }
        }
        // The client said all it had to say. It may still watch.
        if watching != nil { try await channel.channel.closeFuture.get() }
      } catch let violation as LineFramer.Violation {
        logger.warning("client \(handle.id) dropped: \(violation)")
        try? await outbound.write(ByteBuffer(string: RPC.answer(.null, RPCError(violation))))
      } catch {
        logger.debug("client \(handle.id): \(error)")
      }
      watching?.cancel()
      pumps.cancelAll()
    }
  }

  private func subscribe(_ filter: EventHub.Filter) -> EventHub.Subscription {
    handler.hub.subscribe(filter, buffer: eventBuffer) {
      logger.warning("client \(handle.id) dropped: it does not read its events")
      channel.channel.close(promise: nil)
    }
  }

  private func pump(
    _ events: EventHub.Subscription, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async {
    do {
      for await event in events {
        try await outbound.write(ByteBuffer(string: RPC.notification(event)))
      }
    } catch {
      // The connection has ended; `run` sees that too.
      events.cancel()
    }
  }
}

extension RPCError {
  /// What a client is told whose bytes are no lines.
  init(_ violation: LineFramer.Violation) {
    switch violation {
    case .tooLong:
      self.init(code: Self.parseError, message: "a line is longer than \(LineFramer.maximumLine) octets")
    case .invalidUTF8:
      self.init(code: Self.parseError, message: "a line is not UTF-8")
    }
  }
}
