import Glibc

/// A directory that only its owner can enter.
public enum PrivateDirectory {
  /// Makes `path` (and missing directories above it) a directory of mode 0700, whatever the umask.
  ///
  /// A directory of this user that others can enter is repaired. A symbolic link, a file or a directory of another user
  /// is refused with ``Failure/Name/databaseError``.
  public static func ensure(_ path: String) throws(Failure) {
    try create(path)
    try check(path, repair: true)
  }

  /// Refuses everything that ``ensure(_:)`` refuses, and a directory that others can enter; creates and changes
  /// nothing.
  ///
  /// A client calls this before it trusts the socket in the directory.
  public static func verify(_ path: String) throws(Failure) {
    try check(path, repair: false)
  }

  private static func create(_ path: String) throws(Failure) {
    var status = stat()
    if lstat(path, &status) == 0 { return }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try create(String(path[..<slash]))
    }
    // Another process may create the directory at the same time.
    if mkdir(path, 0o700) != 0 {
      if errno != EEXIST { throw refusal(path, .text(String(cString: strerror(errno)))) }
    } else if chmod(path, 0o700) != 0 {
      throw refusal(path, .text(String(cString: strerror(errno))))
    }
  }

  private static func check(_ path: String, repair: Bool) throws(Failure) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw refusal(path, .text(String(cString: strerror(errno)))) }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: break
    case S_IFLNK: throw refusal(path, .store(.symbolicLink))
    default: throw refusal(path, .store(.notDirectory))
    }
    guard status.st_uid == geteuid() else { throw refusal(path, .store(.notOwned)) }
    if status.st_mode & 0o777 == 0o700 { return }
    guard repair else {
      if status.st_mode & 0o077 == 0 { return }
      throw refusal(path, .store(.openToOthers))
    }
    if chmod(path, 0o700) == 0 { return }
    // The mode cannot be changed on a read-only file system, which is safe.
    if errno != EROFS { throw refusal(path, .text(String(cString: strerror(errno)))) }
  }

  private static func refusal(_ path: String, _ why: FailureDetail) -> Failure {
    Failure(.databaseError, stage: .store, detail: .about(path, why))
  }
}
