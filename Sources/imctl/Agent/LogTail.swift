import AgentProtocol
import Glibc

/// The agent's log file as text that is safe to display.
enum LogTail {
  /// The last lines of a file, oldest first; empty if there is no file.
  ///
  /// - Throws: `databaseError` if the file is a symbolic link or cannot be read.
  static func lines(of path: String, last count: Int) throws -> [String] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if descriptor < 0 {
      if errno == ENOENT { return [] }
      let why = errno == ELOOP ? FailureDetail.store(.symbolicLink) : .text(systemError())
      throw Failure(.databaseError, stage: .store, detail: .about(path, why))
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < longest {
      var result = 0
      let part = [UInt8](unsafeUninitializedCapacity: 65_536) { room, count in
        result = read(descriptor, room.baseAddress, room.count)
        count = max(0, result)
      }
      if result < 0 { throw Failure(.databaseError, stage: .store, detail: .about(path, systemError())) }
      if part.isEmpty { break }
      bytes += part
    }
    return bytes.split(separator: UInt8(ascii: "\n")).suffix(count).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// A limit far above that of the agent's log.
  private static let longest = 64 << 20
}
