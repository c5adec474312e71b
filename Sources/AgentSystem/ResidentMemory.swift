import CLinux
import Glibc

/// The memory in use while the process is idle.
package enum ResidentMemory {
  /// Returns unused memory: the free pages of the heap, and unchanged pages of the program and its libraries, which are
  /// read again from their files when needed, mostly from the system's cache.
  package static func shrink() {
    linux_trim_heap()
    for mapping in current where mapping.isAsInFile {
      guard let start = UnsafeMutableRawPointer(bitPattern: mapping.start) else { continue }
      madvise(start, mapping.size, Int32(MADV_DONTNEED))
    }
  }

  /// The current mappings of the process.
  static var current: [Mapping] {
    guard let file = try? FileDescriptor(opening: "/proc/self/smaps", O_RDONLY),
      let bytes = try? file.read(limit: 16 << 20)
    else { return [] }
    return mappings(in: String(decoding: bytes, as: UTF8.self))
  }

  /// A mapping of the process (proc(5), `smaps`).
  struct Mapping: Sendable, Equatable {
    let start: UInt
    let size: Int
    /// Whether the mapping is of a file, readable or executable, and not writable.
    let isReadOnlyFile: Bool
    /// The octets in memory, and those of them that differ from the file, such as relocated addresses.
    var resident = 0
    var changed = 0

    /// Whether dropped pages can be read again from the file unchanged.
    var isAsInFile: Bool { isReadOnlyFile && changed == 0 && resident > 0 }
  }

  /// Parses `smaps`. Entries that are not understood count as not droppable.
  static func mappings(in smaps: String) -> [Mapping] {
    var mappings: [Mapping] = []
    for line in smaps.split(separator: "\n") {
      let words = line.split(separator: " ")
      if let mapping = Mapping(words) {
        mappings.append(mapping)
      } else if words.count == 3, words[2] == "kB", let size = Int(words[1]), let last = mappings.indices.last
      {
        switch words[0] {
        case "Rss:": mappings[last].resident = size << 10
        case "Anonymous:": mappings[last].changed = size << 10
        default: break
        }
      }
    }
    return mappings
  }
}

extension ResidentMemory.Mapping {
  /// Parses `START-END PERMISSIONS OFFSET DEVICE INODE PATH`, split at its blanks; nil for another line.
  fileprivate init?(_ words: [Substring]) {
    guard words.count >= 5 else { return nil }
    let ends = words[0].split(separator: "-").map { UInt($0, radix: 16) }
    guard ends.count == 2, let start = ends[0], let end = ends[1], end > start, let inode = Int(words[4])
    else {
      return nil
    }
    self.init(
      start: start, size: Int(end - start),
      isReadOnlyFile: inode != 0 && ["r--p", "r-xp"].contains(words[1]))
  }

  private init(start: UInt, size: Int, isReadOnlyFile: Bool) {
    self.start = start
    self.size = size
    self.isReadOnlyFile = isReadOnlyFile
  }
}
