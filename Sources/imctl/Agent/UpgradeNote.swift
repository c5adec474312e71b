import AgentProtocol
import Glibc
import Synchronization

/// Prints the progress of the upgrade of an earlier version's database, which takes long for a large one.
enum UpgradeNote {
  /// The time after which the first note is printed.
  private static let delay = Duration.seconds(1)
  private static let interval = Duration.seconds(2)
  /// When the next note is due.
  private static let next = Mutex(ContinuousClock.now + delay)

  static func tell(_ percent: Int) {
    let isDue = next.withLock { next in
      guard ContinuousClock.now >= next else { return false }
      next = .now + interval
      return true
    }
    guard isDue else { return }
    Imctl.note(inLanguage("upgrading the database: \(percent) %", "正在更新数据库：\(percent)%"))
  }

  /// The detail for a command whose time limit passed during the upgrade.
  static func unfinished(_ percent: Int) -> FailureDetail { .usage(.upgrade, percent) }

  /// The progress of another process's upgrade, in percent; nil if there is none.
  static func percent(_ paths: AgentPaths) -> Int? {
    let file = open(paths.upgrade, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard flock(file, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
    let text = [UInt8](unsafeUninitializedCapacity: 16) { room, count in
      count = max(0, read(file, room.baseAddress, room.count))
    }
    return text.prefix { $0 != 0x0A }.reduce(0) { 10 * $0 + Int($1) - 0x30 }
  }
}
