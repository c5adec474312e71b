import AgentProtocol
import Logging

/// What a running agent has in its directories. Where somebody removes some of it, it is put back.
actor AgentPremises {
  private let lock: AgentLock
  private let server: AgentServer
  private let store: LocalStore
  private let log: Logger
  private var problem: Failure?
  private var isRestoring = false
  /// Something has happened while everything was looked at.
  private var isDue = false

  /// Before a directory that cannot be watched is looked at again.
  private static let pause: Duration = .seconds(5)

  init(lock: AgentLock, server: AgentServer, store: LocalStore, log: Logger) {
    self.lock = lock
    self.server = server
    self.store = store
    self.log = log
  }

  /// Looks after it when a file of it goes, and when a command does not find the agent, until the task is cancelled.
  ///
  /// - Parameter onLoss: called once where another agent or another database has taken its place.
  func keep(onLoss: @escaping @Sendable (Failure) async -> Void) async {
    await withDiscardingTaskGroup { group in
      group.addTask { for await _ in self.lock.knocks() { await self.restore(onLoss) } }
      group.addTask { await self.watch(onLoss) }
    }
  }

  private func watch(_ onLoss: @Sendable (Failure) async -> Void) async {
    let paths = lock.paths
    let files = Set(
      [paths.socket, paths.lock, paths.database].map { String($0.split(separator: "/").last ?? "") })
    while !Task.isCancelled {
      let changes = try? DirectoryWatch.changes(of: files, in: paths.state)
      // What has happened before somebody watched.
      let isWhole = await restore(onLoss)
      if let changes, isWhole {
        for await _ in changes { await restore(onLoss) }
      } else {
        try? await Task.sleep(for: Self.pause)
      }
    }
  }

  /// Whether everything is there again, as far as this call has looked.
  @discardableResult
  private func restore(_ onLoss: @Sendable (Failure) async -> Void) async -> Bool {
    isDue = true
    if isRestoring { return true }
    isRestoring = true
    defer { isRestoring = false }
    var isWhole = true
    while isDue {
      isDue = false
      isWhole = await look(onLoss)
    }
    return isWhole
  }

  private func look(_ onLoss: @Sendable (Failure) async -> Void) async -> Bool {
    do throws(Failure) {
      let lock = lock
      try await store.inBackground { _ throws(Failure) in try lock.restore() }
      if try await server.restore() { log.warning("the agent's socket was gone, and is there again") }
      try await store.putBack()
      problem = nil
      return true
    } catch {
      if problem != error { log.error("the agent's files are not what they were: \(error.message)") }
      problem = error
      let isLost = error.name == .alreadyRunning || error.detail?.hasSuffix(LocalStore.otherFile) == true
      if isLost { await onLoss(error) }
      return false
    }
  }
}
