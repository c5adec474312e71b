import AgentProtocol
import AgentStore
import AgentSystem
import Dispatch
import Glibc
import Synchronization

/// An agent for one command, on a connected socket: it has no session, takes no lock, and exits with its client.
///
/// It answers from the stored data, and opens streams of its own for work at a server.
package final class OneTimeAgent: Sendable {
  /// How long cancelled requests may take to end.
  private static let patience = DispatchTimeInterval.seconds(1)

  private let connection: CommandConnection
  /// The suspended question to the user, if any.
  private let waiting = Mutex<CheckedContinuation<String?, Never>?>(nil)

  package init(_ connection: CommandConnection) { self.connection = connection }

  /// Answers the client's requests until it closes the connection, then exits the process.
  package func run() throws(Failure) -> Never {
    ProcessSettings.apply()
    let accounts = StoredAccounts(try AgentPaths.current()) { self.tell(AgentNotice(repair: $0)) }
    StoreUpgrade.terms.withLockedValue { $0.onProgress = { self.tell(AgentNotice(upgrade: $0)) } }
    let methods = MethodTable(accounts, self)
    var requests: [Task<Void, Never>] = []
    while let line = connection.next() { requests.append(Task { await self.answer(line, methods) }) }
    for request in requests { request.cancel() }
    give(answer: nil)
    let ended = DispatchSemaphore(value: 0)
    let open = requests
    Task {
      for request in open { await request.value }
      ended.signal()
    }
    _ = ended.wait(timeout: .now() + Self.patience)
    // No work is left, and the client waits for the exit.
    _exit(0)
  }

  /// Writes one value of an answer. Blocks while the client does not read.
  func tell(item: some Encodable) { connection.write(RPC.notification(item: item)) }

  /// Writes whole lines of ``RPC``. Blocks while the client does not read.
  func tell(lines: String) { connection.write(lines) }

  func tell(_ notice: AgentNotice) { connection.write(RPC.notification(notice)) }

  /// Reports a step of a stream, or a line of its wire log.
  func tell(step body: Event.Body) {
    connection.write(RPC.notification(Event(account: "", time: Timestamp.now(), cursor: 0, body: body)))
  }

  /// Asks the user at the client. Nil where there is no answer.
  func ask(_ question: AgentNotice.Question) async -> String? {
    await withCheckedContinuation { continuation in
      waiting.withLock { $0 = continuation }
      tell(AgentNotice(question: question))
      // The client may have gone before it received the question.
      if connection.isClosed { give(answer: nil) }
    }
  }

  /// Gives the answer to the last question.
  func give(answer: String?) { waiting.withLock { $0.take() }?.resume(returning: answer) }

  private func answer(_ line: String, _ methods: MethodTable) async {
    let context = RequestContext(
      client: ClientHandle(id: 1), places: Places(maximum: 1), subscribe: { _, _ in 0 }, clients: { 1 })
    let outcome = await methods.handle(line, context)
    if let answer = outcome.answer { connection.write(answer) }
  }
}
