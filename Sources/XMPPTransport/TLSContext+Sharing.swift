import Glibc
import NIOConcurrencyHelpers

// Connections with the same settings share what they trust: a thousand accounts on one server hold it once.

extension TLSContext {
  /// The context of other connections with this configuration, or a new one. Blocks on files.
  ///
  /// A context is given to connections that begin within ``sharingPeriod`` of its making, and while its CA file is
  /// the same: an authority that is taken off the machine is not trusted for as long as the process lives. One with a
  /// client certificate is not shared.
  ///
  /// - Throws: as ``init(_:)``.
  public static func shared(_ configuration: TLSConfiguration) throws(TransportError) -> TLSContext {
    guard configuration.clientCertificate == nil else { return try TLSContext(configuration) }
    let key = SharedContexts.Key(configuration)
    if let context = SharedContexts.all.withLockedValue({ $0.find(key, at: .now) }) { return context }
    let context = try TLSContext(configuration)
    // Another thread may have made one meanwhile: the first is everybody's.
    return SharedContexts.all.withLockedValue { $0.find(key, at: .now) ?? $0.add(context, key, at: .now) }
  }

  /// How old a context may be that a new connection is given.
  static let sharingPeriod = Duration.seconds(3600)
}

/// The contexts in use. Those that no connection holds any more are forgotten when another is added.
struct SharedContexts {
  static let all = NIOLockedValueBox(SharedContexts())

  struct Key: Hashable {
    var configuration: TLSConfiguration
    /// Of the CA file: device, inode, size, time of change.
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
