import AgentSession
import NIOCore

/// Answers that become available after the next request was read. They are written in the order of the requests.
struct LateAnswers: Sendable {
  /// The maximum number of open answers; a client with more is not read meanwhile.
  private static let limit = 64

  private let answers: AsyncStream<@Sendable () async -> String>
  private let continuation: AsyncStream<@Sendable () async -> String>.Continuation
  private let backlog = Backlog()

  init() { (answers, continuation) = AsyncStream.makeStream() }

  /// Writes the added answers until the connection or the task ends.
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

  /// Adds an answer that is written when it is available.
  func add(_ answer: @escaping @Sendable () async -> String) async {
    if backlog.pending >= Self.limit { await backlog.empty() }
    backlog.add()
    continuation.yield(answer)
  }

  /// Returns when every answer added before this call is written.
  func written() async { await backlog.empty() }
}
