import AgentProtocol
import AgentStore
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// One client of the agent: reads its requests, answers them in order, and sends it the events that it watches.
struct ClientConnection: Sendable {
  typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  let handle: ClientHandle
  let channel: Channel
  let methods: MethodTable
  let hub: EventHub
  /// The store from which a watcher's missed messages are read.
  let store: LocalStore?
  let places: Places
  /// Returns the number of connected clients.
  let clients: @Sendable () -> Int
  /// Called once, when the connection and its running request have ended.
  let whenGone: @Sendable (ClientHandle) async -> Void
  /// The number of events that may wait for this client before it is disconnected; stored events are read from the
  /// store instead.
  let eventBuffer: Int
  let logger: Logger

  /// Serves the client; returns when the connection has ended.
  func run() async {
    do {
      try await channel.executeThenClose { inbound, outbound in
        // A request that is running when the connection ends is cancelled.
        await withTaskGroup { group in
          group.addTask { await serve(inbound, outbound) }
          group.addTask { try? await channel.channel.closeFuture.get() }
          await group.next()
          group.cancelAll()
          await leave()
          channel.channel.close(promise: nil)
        }
      }
    } catch {
      logger.debug("client \(handle.id): \(error)")
    }
  }

  /// Releases what lasts as long as the client. This happens before the connection is closed, so that it is done for
  /// anyone who waits for the close. It is not cancelled with the server.
  private func leave() async {
    places.leave(handle)
    await Task { await whenGone(handle) }.value
  }

  private func serve(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async {
    await withDiscardingTaskGroup { pumps in
      var watching: EventHub.Subscription?
      var occupiesPlaceAfterAnswer = false
      let started = NIOLockedValueBox<(EventHub.Subscription, since: Int64?)?>(nil)
      let context = RequestContext(
        client: handle, places: places,
        subscribe: { filter, since in
          let subscription = subscribe(filter, since: since)
          started.withLockedValue { $0 = (subscription, since) }
          return subscription.cursor
        }, clients: clients)
      let answers = LateAnswers()
      pumps.addTask { await answers.write(to: outbound) }
      do {
        var framer = LineFramer()
        for try await chunk in inbound {
          framer.append(chunk.readableBytesView)
          while let line = try framer.next() {
            let outcome = await methods.handle(line, context)
            // A client that only waits for the outcome of its messages needs no place.
            occupiesPlaceAfterAnswer = occupiesPlaceAfterAnswer || outcome.occupiesPlaceAfterAnswer
            if !occupiesPlaceAfterAnswer { places.leave(handle) }
            // Events from before the answer are written before it.
            await watching?.caughtUp()
            if let later = outcome.later {
              await answers.add(later)
            } else {
              if !outcome.isAnsweredFirst { await answers.written() }
              if let answer = outcome.answer { try await outbound.write(ByteBuffer(string: answer)) }
            }
            if let (subscription, since) = started.withLockedValue({ $0.take() }) {
              watching?.cancel()
              watching = subscription
              pumps.addTask { await pump(subscription, since: since, outbound) }
            }
            await outcome.afterwards?()
          }
        }
        // The client has sent its last request. It may still wait for answers and events.
        await answers.written()
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

  private func subscribe(_ filter: EventHub.Filter, since: Int64?) -> EventHub.Subscription {
    let readsStore = store != nil && !filter.storedNames.isEmpty
    return hub.subscribe(
      filter, buffer: eventBuffer, readsStore: readsStore, lags: readsStore && since != nil
    ) {
      logger.warning("client \(handle.id) dropped: it does not read its events")
      channel.channel.close(promise: nil)
    }
  }

  private func pump(
    _ events: EventHub.Subscription, since: Int64?,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async {
    do {
      var replay = store.map {
        Replay(store: $0, events.filter, after: events.cursor)
      }
      if let since, events.lags {
        for event in try await replay?.begin(since: since, until: events.cursor) ?? [] {
          try await outbound.write(ByteBuffer(string: RPC.notification(event)))
        }
      }
      func writeMissed(until cursor: Int64) async throws {
        while let missed = try await replay?.next(until: cursor) {
          let lines = missed.map(RPC.notification).joined()
          if !lines.isEmpty { try await outbound.write(ByteBuffer(string: lines)) }
        }
      }
      if let cursor = events.endLag(handling: 0) { try await writeMissed(until: cursor) }
      for await event in events {
        if events.lags { try await writeMissed(until: event.cursor - 1) }
        try await outbound.write(ByteBuffer(string: RPC.notification(event)))
        replay?.told(event.cursor)
        if let cursor = events.endLag() { try await writeMissed(until: cursor) }
      }
    } catch {
      // Either the connection has ended, which `run` handles, or the store cannot be read.
      if error is Failure {
        logger.error("events are no longer sent: \(error)")
        channel.channel.close(promise: nil)
      }
      events.cancel()
    }
  }
}
