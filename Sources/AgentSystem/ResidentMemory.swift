import CLinux
import Glibc

/// The memory that the process has in use while nothing happens.
package enum ResidentMemory {
  /// Gives back what is of no use: the free pages of the heap, and those of the program and its libraries that are as they
  /// are in their files. What of these is needed again is read from there, mostly from the system's cache.
  package static func shrink() {
    linux_trim_heap()
    for mapping in current where mapping.isAsInFile {
      guard let start = UnsafeMutableRawPointer(bitPattern: mapping.start) else { continue }
      madvise(start, mapping.size, Int32(MADV_DONTNEED))
    }
  }

  /// What the process has mapped now.
  static var current: [Mapping] {
    guard let file = try? FileDescriptor(opening: "/proc/self/smaps", O_RDONLY),
      let bytes = try? file.read(limit: 16 << 20)
    else { return [] }
    return mappings(in: String(decoding: bytes, as: UTF8.self))
  }

  /// A part of the process's addresses (proc(5), `smaps`).
  struct Mapping: Sendable, Equatable {
    let start: UInt
    let size: Int
    /// It is of a file, is read or run, and cannot be written.
    let isReadOnlyFile: Bool
    /// Octets in memory, and those of them that differ from the file: constants with addresses in them.
    var resident = 0
    var changed = 0

    /// What is dropped of it comes back as it is.
    var isAsInFile: Bool { isReadOnlyFile && changed == 0 && resident > 0 }
  }

  /// The mappings that `smaps` tells of. What is not understood is none that could be dropped.
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
  /// `START-END PERMISSIONS OFFSET DEVICE INODE PATH`, split at its blanks; nil for another line.
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
