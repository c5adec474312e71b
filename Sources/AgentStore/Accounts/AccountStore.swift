import AgentProtocol
import AgentSystem
import FoundationEssentials
import Glibc
import NIOConcurrencyHelpers
import NIOPosix

/// Reads and replaces `accounts.json`.
///
/// The file has mode 0600 in a directory of mode 0700. A new version is written to a temporary file, synchronised and
/// renamed, so that readers find the old or the new contents even after a crash or on a full disk. Writers of all
/// processes take turns on a lock. A file that could not be read is never overwritten.
///
/// Every call blocks on the disk: on an event loop or in an actor use ``BlockingStore/inBackground(_:)``.
package struct AccountStore: BlockingStore {
  /// An unsafe permission that was corrected.
  package enum Repair: Sendable, Equatable {
    /// Other users could read the file at this path; its mode is now 0600.
    case modeOfFile(String)
    /// Other users could enter this directory; its mode is now 0700.
    case modeOfDirectory(String)

    package func localized(_ language: Language) -> String {
      switch (self, language) {
      case (.modeOfFile(let path), .english): "\(path) was open to other users; its mode is 0600 now"
      case (.modeOfFile(let path), .chinese): "\(path) 曾对其他用户开放；现已将权限改为 0600"
      case (.modeOfDirectory(let path), .english): "\(path) was open to other users; its mode is 0700 now"
      case (.modeOfDirectory(let path), .chinese): "\(path) 曾对其他用户开放；现已将权限改为 0700"
      }
    }
  }

  /// The steps of a replacement, so that tests can make one fail.
  package enum Step: CaseIterable { case open, write, synchronise, rename, synchroniseDirectory }

  /// The maximum size in octets of a file that is read.
  package static let maximumSize = 16 << 20
  /// The seconds to wait for another writer.
  static let lockPatience = 10

  static let fileName = "accounts.json"

  package let directory: String
  /// Combines changes to several accounts by this process into one write.
  let writes = AccountWrites()
  private let lastRead = LastRead()
  /// Called with the old and new contents after each ``update(_:)`` of this value, before the lock is released.
  var onWrite: @Sendable (AccountFile, AccountFile) -> Void = { _, _ in }
  private let onRepair: @Sendable (Repair) -> Void
  package var before: @Sendable (Step) throws(Errno) -> Void = { _ in }

  package var path: String { "\(directory)/\(Self.fileName)" }
  private var temporaryPath: String { path + ".new" }
  private var lockPath: String { directory + "/accounts.lock" }

  /// - Parameter onRepair: called for each repair, to tell the user.
  package init(directory: String, onRepair: @escaping @Sendable (Repair) -> Void = { _ in }) {
    self.directory = directory
    self.onRepair = onRepair
  }

  /// The stored accounts; empty where there is no file yet.
  ///
  /// Throws `databaseError` with the path where the file is a symbolic link, belongs to another user, can be written by
  /// others or cannot be decoded.
  package func load() throws(Failure) -> AccountFile {
    var status = stat()
    if lstat(directory, &status) != 0 && errno == ENOENT { return AccountFile() }
    try ensureDirectory()
    return try read()
  }

  /// The contents that this value last read or wrote; nil where it has done neither.
  var lastKnown: AccountFile? { lastRead.contents }

  /// Reads the file, applies `change` and replaces the file if something changed.
  ///
  /// Calls must not be nested: the inner call waits for the outer one and throws `databaseError`.
  @discardableResult
  package func update<Result>(_ change: (inout AccountFile) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    try ensureDirectory()
    let lock = try acquireLock()
    let old = try read()
    var new = old
    let result = try change(&new)
    if new != old {
      try replace(with: new)
      onWrite(old, new)
    }
    _ = consume lock
    return result
  }

  /// Calls `body` with the contents while no other process writes them. On a read-only directory it does not wait for
  /// writers.
  func inspect<Result>(_ body: (AccountFile) -> Result) throws(Failure) -> Result {
    try ensureDirectory()
    let lock = try isReadOnly ? nil : acquireLock()
    let result = body(try read())
    _ = consume lock
    return result
  }

  /// Whether the directory is on a read-only file system or cannot be written by this user.
  private var isReadOnly: Bool { access(directory, W_OK) != 0 && (errno == EROFS || errno == EACCES) }

  private func ensureDirectory() throws(Failure) {
    var status = stat()
    let exposed = lstat(directory, &status) == 0 && status.st_mode & 0o077 != 0
    try PrivateDirectory.ensure(directory)
    if exposed { onRepair(.modeOfDirectory(directory)) }
  }

  private func acquireLock() throws(Failure) -> FileDescriptor {
    do throws(Errno) {
      let lock = try FileDescriptor(opening: lockPath, O_RDWR | O_CREAT | O_NOFOLLOW)
      for _ in 0..<(Self.lockPatience * 100) {
        if try lock.lock() { return lock }
        usleep(10_000)
      }
    } catch {
      throw error.failure(lockPath)
    }
    throw Failure(.databaseError, stage: .store, detail: .about(lockPath, FailureDetail.store(.locked)))
  }

  private func read() throws(Failure) -> AccountFile {
    let bytes: [UInt8]?
    let stamp: FileStamp
    do {
      let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      guard status.st_mode & S_IFMT == S_IFREG else { throw refusal(.store(.notFile)) }
      guard status.st_uid == geteuid() else { throw refusal(.store(.notOwned)) }
      guard status.st_mode & 0o022 == 0 else {
        throw refusal(.store(.writableByOthers))
      }
      if status.st_mode & 0o077 != 0 {
        if fchmod(file.number, 0o600) == 0 {
          onRepair(.modeOfFile(path))
        } else if errno != EROFS {
          throw Errno.last
        }
      }
      stamp = FileStamp(try file.status())
      if let contents = lastRead.contents(as: stamp) { return contents }
      bytes = try file.read(limit: Self.maximumSize)
    } catch let error as Errno where error.code == ENOENT {
      return AccountFile()
    } catch let error as Errno where error.code == ELOOP {
      throw refusal(.store(.symbolicLink))
    } catch {
      throw failure(error, path)
    }
    guard let bytes else { throw refusal(.store(.tooLarge)) }
    do {
      let contents = try JSONDecoder().decode(AccountFile.self, from: Data(bytes))
      lastRead.remember(contents, as: stamp)
      return contents
    } catch {
      throw refusal(Self.describe(error))
    }
  }

  private func replace(with contents: AccountFile) throws(Failure) {
    let encoder = JSONEncoder()
    encoder.userInfo[.encodesSentences] = true
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(contents) else {
      throw Failure(.internalError, stage: .store, detail: .text(path))
    }
    do throws(Errno) {
      try before(.open)
      // Removes the file of a writer that was killed.
      if unlink(temporaryPath) != 0 && errno != ENOENT { throw Errno.last }
      let file = try FileDescriptor(opening: temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
      try before(.write)
      try file.write(Array(data) + [0x0A])
      try before(.synchronise)
      try file.synchronise()
      try before(.rename)
      if rename(temporaryPath, path) != 0 { throw Errno.last }
      lastRead.remember(contents, as: FileStamp(try file.status()))
      try before(.synchroniseDirectory)
      try FileDescriptor(opening: directory, O_RDONLY | O_DIRECTORY).synchronise()
    } catch {
      throw error.failure(path)
    }
  }

  private func failure(_ error: any Error, _ path: String) -> Failure {
    error as? Failure ?? (error as? Errno)?.failure(path)
      ?? Failure(.internalError, stage: .store, detail: .text(path))
  }

  private func refusal(_ why: FailureDetail) -> Failure {
    Failure(.databaseError, stage: .store, detail: .about(path, why))
  }

  /// Describes the place of an error in the file, without the contents of that place.
  private static func describe(_ error: any Error) -> FailureDetail {
    func place(_ context: DecodingError.Context, _ last: [any CodingKey] = []) -> String? {
      let keys = context.codingPath + last
      return keys.isEmpty
        ? nil : keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
    func detail(
      _ key: FailureDetail.Store, at keyOfPlace: FailureDetail.Store, _ place: String?
    ) -> FailureDetail {
      place.map { .store(keyOfPlace, $0) } ?? .store(key)
    }
    return switch error {
    case is AccountFile.LaterVersion: .store(.laterVersion)
    case DecodingError.keyNotFound(let key, let context):
      detail(.incomplete, at: .incompleteAt, place(context, [key]))
    case DecodingError.valueNotFound(_, let context): detail(.incomplete, at: .incompleteAt, place(context))
    case DecodingError.typeMismatch(_, let context): detail(.wrongType, at: .wrongTypeAt, place(context))
    case DecodingError.dataCorrupted(let context): detail(.notJSON, at: .wrongValueAt, place(context))
    default: .store(.notUnderstood)
    }
  }
}

/// Caches the contents as last read or written, for as long as the file is unchanged: decoding a thousand accounts
/// takes tens of milliseconds.
private final class LastRead: Sendable {
  private let last = NIOLockedValueBox<(contents: AccountFile, stamp: FileStamp)?>(nil)

  var contents: AccountFile? { last.withLockedValue { $0?.contents } }

  func contents(as stamp: FileStamp) -> AccountFile? {
    last.withLockedValue { $0?.stamp == stamp ? $0?.contents : nil }
  }

  func remember(_ contents: AccountFile, as stamp: FileStamp) {
    last.withLockedValue { $0 = (contents, stamp) }
  }
}

/// Identifies a version of the file: differs after each replacement and change.
private struct FileStamp: Equatable {
  private var numbers: [Int]

  init(_ status: stat) {
    numbers = [
      Int(bitPattern: status.st_dev), Int(bitPattern: status.st_ino), status.st_size,
      status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
    ]
  }
}
