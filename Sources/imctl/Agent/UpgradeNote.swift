import AgentProtocol
import Glibc
import Synchronization

/// Tells how far the upgrade of a database is that an earlier version has made. That takes a while where it is large.
enum UpgradeNote {
  /// What is done before that is not worth a word.
  private static let patience = Duration.seconds(1)
  private static let interval = Duration.seconds(2)
  /// When something is told next.
  private static let next = Mutex(ContinuousClock.now + patience)

  static func tell(_ percent: Int) {
    let isDue = next.withLock { next in
      guard ContinuousClock.now >= next else { return false }
      next = .now + interval
      return true
    }
    guard isDue else { return }
    Imctl.note(inLanguage("the database is brought up to date: \(percent) %", "正在更新数据库：\(percent)%"))
  }

  /// What a command has waited for whose time is up.
  static func unfinished(_ percent: Int) -> FailureDetail { .usage(.upgrade, percent) }

  /// How far the upgrade is that some process does, in percent; nil: none does.
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
