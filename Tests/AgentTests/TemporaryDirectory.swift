import AgentProtocol
import Glibc

@testable import Agent

/// A directory of its own for one test, removed with the last reference to it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/imctl-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw Errno.last }
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

  var paths: AgentPaths { AgentPaths(configuration: path + "/config", state: path + "/state") }
}

/// Permission bits of `path` itself, 0 where there is nothing.
func mode(_ path: String) -> mode_t {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

func contents(_ path: String) -> String? {
  let bytes = try? FileDescriptor(opening: path, O_RDONLY).read(limit: 1 << 24)
  return bytes.map { String(decoding: $0, as: UTF8.self) }
}

func write(_ text: String, to path: String, mode: mode_t = 0o600) {
  try? FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC).write(Array(text.utf8))
  chmod(path, mode)
}
