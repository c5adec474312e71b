import Glibc
import NIOConcurrencyHelpers

// Connections with the same settings share a context, so that many accounts on a server need its memory only once.

extension TLSContext {
  /// The context of other connections with this configuration, or a new one. Blocks while it reads files.
  ///
  /// A context is shared only within ``sharingPeriod`` after its creation, and while its CA file is unchanged, so that
  /// an authority removed from the machine does not remain trusted for as long as the process runs. A context with a
  /// client certificate is not shared.
  ///
  /// - Throws: The errors of ``init(_:)``.
  public static func shared(_ configuration: TLSConfiguration) throws(TransportError) -> TLSContext {
    guard configuration.clientCertificate == nil else { return try TLSContext(configuration) }
    let key = SharedContexts.Key(configuration)
    if let context = SharedContexts.all.withLockedValue({ $0.find(key, at: .now) }) { return context }
    let context = try TLSContext(configuration)
    // Another thread may have added a context meanwhile; the first one is used.
    return SharedContexts.all.withLockedValue { $0.find(key, at: .now) ?? $0.add(context, key, at: .now) }
  }

  /// The maximum age of a context for new connections.
  static let sharingPeriod = Duration.seconds(3600)
}

/// The contexts in use. Contexts without connections are removed when another one is added.
struct SharedContexts {
  static let all = NIOLockedValueBox(SharedContexts())

  struct Key: Hashable {
    var configuration: TLSConfiguration
    /// The device, inode, size and modification time of the CA file.
    var file: [Int]

    init(_ configuration: TLSConfiguration) {
      self.configuration = configuration
      var status = stat()
      file =
        if let path = configuration.caFile, stat(path, &status) == 0 {
          [
            Int(bitPattern: status.st_dev), Int(bitPattern: status.st_ino), status.st_size,
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
          ]
        } else {
          []
        }
    }
  }

  private struct Entry {
    weak var context: TLSContext?
    var made: ContinuousClock.Instant
  }

  private var entries: [Key: Entry] = [:]

  var count: Int { entries.count }

  func find(_ key: Key, at now: ContinuousClock.Instant) -> TLSContext? {
    guard let entry = entries[key], now - entry.made < TLSContext.sharingPeriod else { return nil }
    return entry.context
  }

  mutating func add(_ context: TLSContext, _ key: Key, at now: ContinuousClock.Instant) -> TLSContext {
    entries = entries.filter { $0.value.context != nil }
    entries[key] = Entry(context: context, made: now)
    return context
  }
}
