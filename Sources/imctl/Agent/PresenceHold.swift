import AgentProtocol
import Glibc

/// A presence that is held while a command runs, with one agent after the other.
///
/// The hold ends with its connection to the agent, and therefore with this process. An agent that was killed is started
/// again; an agent that was stopped is waited for. Remarks on standard error report when the presence is not held.
final class PresenceHold: Sendable {
  /// The time without an agent after which a remark is printed, long enough for a restart.
  private static let remarkDelay = Timeout(seconds: 3)
  /// The time limit of a single attempt.
  private static let attempt = Timeout(seconds: 5)
  /// The pause between two attempts in milliseconds.
  private static let pause: Int32 = 100
  private static let longPause: Int32 = 1000

  private let parameters: PresenceSetMethod.Parameters
  private let json: Bool
  /// Data or the end of file on this pipe tells the thread to stop.
  private let stopSignal: (read: Int32, write: Int32)

  /// - Parameter parameters: The presence, with `since`, so that a new agent also knows the newest of several holds.
  init?(_ parameters: PresenceSetMethod.Parameters, json: Bool) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    self.parameters = parameters
    self.json = json
    stopSignal = (ends[0], ends[1])
  }

  /// Holds the presence from now on, in a thread of its own.
  ///
  /// - Parameters:
  ///   - agent: The agent that holds the presence; nil if it is not held yet.
  ///   - failure: Why it is not held, if that was reported already.
  func start(_ agent: AgentClient?, after failure: Failure?) -> Thread? {
    let work = Work(hold: self, agent: agent, told: failure)
    // Signals are handled by the thread that waits for the command.
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { work in
        if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().run() }
        return nil
      }, Unmanaged.passRetained(work).toOpaque())
    return result == 0 ? Thread(id: thread, stopSignal: stopSignal.write) : nil
  }

  /// The thread that keeps a presence held.
  struct Thread {
    fileprivate let id: pthread_t
    fileprivate let stopSignal: Int32

    /// Ends the hold and waits until the previous presence has returned.
    func end() {
      close(stopSignal)
      pthread_join(id, nil)
    }
  }

  /// The initial state of the thread, which no other thread uses.
  private final class Work {
    private let hold: PresenceHold
    private var agent: AgentClient?
    private let told: Failure?

    init(hold: PresenceHold, agent: AgentClient?, told: Failure?) {
      self.hold = hold
      self.agent = agent
      self.told = told
    }

    func run() { hold.run(&agent, told: told) }
  }

  private func run(_ agent: inout AgentClient?, told: Failure?) {
    var told = told
    while true {
      if let held = agent {
        if held.waitForEnd(or: stopSignal.read) { return held.end() }
        agent = nil
      }
      guard let next = reacquire(told: told) else { return }
      agent = next
      told = nil
    }
  }

  /// Holds the presence with the next agent; returns nil if the command ends before that.
  ///
  /// - Parameter told: The reported failure because of which it is not held.
  private func reacquire(told: Failure?) -> AgentClient? {
    let remarkTime = Deadline(Self.remarkDelay)
    var told = told
    var pause = Self.pause
    while !isStopped(after: pause) {
      var held: AgentClient?
      var failure: Failure?
      do {
        // An agent of a later version may hold the presence, too.
        try AgentClient.session(start: .never, until: Deadline(Self.attempt)) { agent in
          _ = try agent.answer(to: agent.send(PresenceSetMethod.self, parameters))
          held = agent
        }
        if held == nil, try Self.wasKilled { try AgentLauncher.launch(until: Deadline(Self.attempt)) }
      } catch {
        failure = error as? Failure ?? Failure(.internalError, stage: .request)
      }
      if let held {
        if told != nil { tell(inLanguage("the presence is held again", "已重新保持该状态")) }
        return held
      }
      guard remarkTime.isOver else { continue }
      pause = Self.longPause
      let reason = failure ?? Self.noAgent
      if reason != told {
        told = reason
        Console.err(CommandEnd(reason, json: json).standardError ?? "")
        tell(inLanguage("the presence is currently not held", "目前无法保持该状态"))
      }
    }
    return nil
  }

  /// Prints a remark. With JSON, the error object suffices.
  private func tell(_ text: String) { if !json { Console.remark(text) } }

  /// Whether the thread was told to stop before the time has passed.
  private func isStopped(after milliseconds: Int32) -> Bool {
    var wait = pollfd(fd: stopSignal.read, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, milliseconds) > 0
  }

  /// Whether the missing agent was killed: an agent that ends cleanly removes its socket.
  private static var wasKilled: Bool {
    get throws { access(try AgentPaths.current().socket, F_OK) == 0 }
  }

  private static var noAgent: Failure { .agentUnreachable(.agent(.ended)) }
}
