import AgentProtocol
import FoundationEssentials
import Glibc

/// A directory of its own for one test, removed with the last reference to it.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    var template = Array("/tmp/imctl-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw TestSupportError("\(String(cString: strerror(errno)))") }
    path = String(cString: made)
  }

  deinit { Self.remove(path) }

  /// Removes `path` and what is in it; follows no link.
  private static func remove(_ path: String) {
    if unlink(path) == 0 { return }
    if let directory = opendir(path) {
      while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != "." && name != ".." { remove("\(path)/\(name)") }
      }
      closedir(directory)
    }
    rmdir(path)
  }

  /// The files of an agent that a test starts here.
  public var paths: AgentPaths { AgentPaths(configuration: path + "/config", state: path + "/state") }
}

/// Permission bits of `path` itself, 0 where there is nothing.
public func mode(_ path: String) -> mode_t {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

/// The text of the file; nil where it cannot be read.
public func contents(_ path: String) -> String? {
  FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
}

/// Makes the file anew with this text.
public func write(_ text: String, to path: String, mode: mode_t = 0o600) {
  _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8))
  chmod(path, mode)
}
