import NIOCore
import XMPPStanza
import XMPPXML

// Requests and their answers (RFC 6120 §8.2.3).

extension XMPPStream {
  /// Sends a request and returns its answer, which may be an error.
  ///
  /// - Throws: `notLoggedIn`, `networkError` when the stream ends or no answer arrives in time, `cancelled` when the
  ///   task is cancelled, `invalidParameter` for an ID that already waits for an answer.
  public func request(_ request: IQ, timeout: TimeAmount) async throws(XMPPError) -> IQ {
    let answers = try await exchange([request.withID.element], timeout: timeout)
    guard let answer = answers.first else { throw Self.notOnline }
    return try answer.get()
  }

  /// Sends stanzas with one write and returns the answers to the requests among them, in the same order.
  ///
  /// Requests need an `id`. A missing answer is replaced by its reason: `networkError` when the stream ends or the time
  /// is up, `cancelled` when the task is cancelled.
  ///
  /// - Parameter written: called when the stanzas are written; later stanzas follow them.
  /// - Throws: `notLoggedIn`, `invalidParameter` for an ID that already waits for an answer.
  public func exchange(
    _ stanzas: [XMLElement], timeout: TimeAmount, written: @Sendable () -> Void
  ) async throws(XMPPError) -> [Result<IQ, XMPPError>] {
    guard state.isOpen else { throw Self.notOnline }
    let asked = stanzas.compactMap(IQ.init).filter(\.isRequest)
    let ids = asked.compactMap(\.id)
    for (index, id) in ids.enumerated() where requests.isWaiting(for: id) || ids[..<index].contains(id) {
      throw XMPPError(.invalidParameter, stage: .request, .says(.requestIDTaken, id))
    }
    let late = XMPPError(.networkError, stage: .request, .says(.requestUnanswered))
    let expiry = eventLoop.scheduleTask(in: timeout) { self.assumeIsolated { $0.giveUp(ids, late) } }
    defer { updateReading() }
    let answers = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let answers = Answers(count: ids.count, waiter)
        for (index, request) in asked.enumerated() {
          requests.add(ids[index], to: request.to) { answers.record($0, at: index) }
        }
        updateReading()
        write(stanzas)
        written()
      }
    } onCancel: {
      let cancelled = XMPPError(.cancelled, stage: .request, .says(.requestCancelled))
      eventLoop.execute { self.assumeIsolated { $0.giveUp(ids, cancelled) } }
    }
    expiry.cancel()
    return answers
  }

  private func giveUp(_ ids: [String], _ reason: XMPPError) {
    for id in ids { requests.removeWaiter(id)?(.failure(reason)) }
  }
}

/// Collects the answers to requests that were sent together.
private final class Answers {
  typealias Waiter = CheckedContinuation<[Result<IQ, XMPPError>], Never>

  private var all: [Result<IQ, XMPPError>]
  private var open: Int
  private let waiter: Waiter

  init(count: Int, _ waiter: Waiter) {
    all = Array(repeating: .failure(XMPPStream.notOnline), count: count)
    open = count
    self.waiter = waiter
    if count == 0 { waiter.resume(returning: []) }
  }

  func record(_ answer: Result<IQ, XMPPError>, at index: Int) {
    all[index] = answer
    open -= 1
    if open == 0 { waiter.resume(returning: all) }
  }
}
