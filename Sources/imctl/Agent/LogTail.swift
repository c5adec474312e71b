import Glibc

/// The agent's log file, as text that is safe to show.
enum LogTail {
  /// The last lines of a file, oldest first; none when there is no file.
  static func lines(of path: String, last count: Int = .max) -> [String] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < longest {
      let part = [UInt8](unsafeUninitializedCapacity: 65_536) { room, count in
        count = max(0, read(descriptor, room.baseAddress, room.count))
      }
      if part.isEmpty { break }
      bytes += part
    }
    return bytes.split(separator: UInt8(ascii: "\n")).suffix(count).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// The agent bounds its log far below this.
  private static let longest = 64 << 20
}
