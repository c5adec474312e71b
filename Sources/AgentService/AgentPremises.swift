import AgentProtocol
import AgentStore
import AgentSystem
import Logging

/// The files of a running agent. Files that another process removes are restored.
actor AgentPremises {
  private let lock: AgentLock
  private let server: AgentServer
  private let store: LocalStore
  private let log: Logger
  private var problem: Failure?

  /// The pause before a failed check is repeated: the first one, and the longest.
  private static let pauses = (first: Duration.milliseconds(50), longest: Duration.seconds(5))

  init(lock: AgentLock, server: AgentServer, store: LocalStore, log: Logger) {
    self.lock = lock
    self.server = server
    self.store = store
    self.log = log
  }

  /// Checks the files when one of them changes and when a command does not find the agent, until the task is cancelled.
  ///
  /// - Parameter onLoss: called once, when another agent or another database has taken the place of this one.
  func maintain(onLoss: @escaping @Sendable (Failure) async -> Void) async {
    let (occasions, occasion) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    await withDiscardingTaskGroup { group in
      group.addTask { for await _ in self.lock.knocks() { occasion.yield() } }
      group.addTask { await self.watch(occasion) }
      var pause = Duration.zero
      for await _ in occasions {
        if await look(onLoss) {
          pause = .zero
        } else {
          pause = min(max(pause * 2, Self.pauses.first), Self.pauses.longest)
          try? await Task.sleep(for: pause)
          occasion.yield()
        }
      }
    }
  }

  /// Watches the directories and requests a check on each change, until the task is cancelled.
  private func watch(_ occasion: AsyncStream<Void>.Continuation) async {
    let paths = lock.paths
    let log = paths.database + DatabaseFiles.logSuffix
    let files = Set(
      [paths.socket, paths.lock, paths.database, log].map { String($0.split(separator: "/").last ?? "") })
    while !Task.isCancelled {
      let changes = try? DirectoryWatch.changes(of: files, in: paths.state)
      // Covers changes made before the watch began.
      occasion.yield()
      if let changes {
        for await _ in changes { occasion.yield() }
      } else {
        try? await Task.sleep(for: Self.pauses.longest)
      }
    }
  }

  /// Restores missing files; returns whether everything is in place.
  private func look(_ onLoss: @Sendable (Failure) async -> Void) async -> Bool {
    do throws(Failure) {
      let lock = lock
      try await store.inBackground { _ throws(Failure) in try lock.restore() }
      if try await server.restore() {
        log.warning("the agent's socket was missing and has been created again")
      }
      try await store.putBack()
      problem = nil
      return true
    } catch {
      if problem != error { log.error("the agent's files are missing or were replaced: \(error.message)") }
      problem = error
      let isLost = error.name == .alreadyRunning || error.detail?.mentions([.store(.otherFile)]) == true
      if isLost { await onLoss(error) }
      return false
    }
  }
}
