import COpenSSL

/// Confidential bytes: a password or a key.
///
/// Printing, interpolating, dumping or reflecting a secret shows `<secret>`. Its only copy is wiped when the last
/// reference is gone. Comparing two secrets of the same length takes constant time. Not `Codable`, so that secrets are
/// not written by accident.
public struct Secret: Hashable, Sendable {
  private let storage: Storage

  public init(_ string: String) { storage = Storage(string.utf8) }

  public init(bytes: some Collection<UInt8>) { storage = Storage(bytes) }

  /// Copies the bytes and wipes the array.
  public init(wiping bytes: inout [UInt8]) {
    storage = Storage(bytes)
    bytes.wipe()
  }

  public var count: Int { storage.bytes.count }
  public var isEmpty: Bool { storage.bytes.isEmpty }

  /// Gives access to the bytes inside `body` only.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(storage) {} }
    return try body(UnsafeRawBufferPointer(storage.bytes))
  }

  /// The content as text, nil where it is not UTF-8. The caller must protect the copy.
  public func revealed() -> String? {
    withBytes { String(validating: $0, as: UTF8.self) }
  }

  public static func == (left: Secret, right: Secret) -> Bool {
    left.withBytes { left in right.withBytes { right in constantTimeEqual(left, right) } }
  }

  public func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: $0) }
  }

  /// Immutable after `init` and therefore safe to share.
  private final class Storage: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ source: some Collection<UInt8>) {
      bytes = .allocate(byteCount: source.count, alignment: 1)
      bytes.copyBytes(from: source)
    }

    deinit {
      OPENSSL_cleanse(bytes.baseAddress, bytes.count)
      bytes.deallocate()
    }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<secret>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Array where Element: BitwiseCopyable {
  /// Overwrites the elements and empties the array; earlier copies of the array are not wiped.
  mutating func wipe() {
    withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    removeAll()
  }
}

/// Compares in a time that does not depend on the position of the first difference.
func constantTimeEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
  guard left.count == right.count else { return false }
  guard let first = left.baseAddress, let second = right.baseAddress else { return true }
  return CRYPTO_memcmp(first, second, left.count) == 0
}
