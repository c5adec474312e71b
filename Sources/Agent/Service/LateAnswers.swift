import NIOCore

/// Answers that come later than the next request is read: written in the order of the requests.
struct LateAnswers: Sendable {
  /// How many may be waited for: a client that asks for more is not read meanwhile.
  private static let limit = 64

  private let answers: AsyncStream<@Sendable () async -> String>
  private let continuation: AsyncStream<@Sendable () async -> String>.Continuation
  private let backlog = Backlog()

  init() { (answers, continuation) = AsyncStream.makeStream() }

  /// Writes what ``add(_:)`` is given, until the connection or the task ends.
  func write(to outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) async {
    for await answer in answers {
      do {
        try await outbound.write(ByteBuffer(string: await answer()))
        backlog.done()
      } catch {
        // The connection has ended.
        break
      }
    }
    backlog.end()
  }

  /// Has an answer written when it is there.
  func add(_ answer: @escaping @Sendable () async -> String) async {
    if backlog.pending >= Self.limit { await backlog.empty() }
    backlog.add()
    continuation.yield(answer)
  }

  /// Returns when every answer that was added before is written.
  func written() async { await backlog.empty() }
}
