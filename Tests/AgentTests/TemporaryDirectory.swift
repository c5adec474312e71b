import AgentProtocol
import FoundationEssentials
import Glibc

/// A directory of its own for one test, removed with the last reference to it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/imctl-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw POSIXFailure(code: errno) }
    path = String(cString: made)
  }

  deinit { _ = try? FileManager.default.removeItem(atPath: path) }

  struct POSIXFailure: Error { let code: Int32 }

  var paths: AgentPaths { AgentPaths(configuration: path + "/config", state: path + "/state") }
}

/// Permission bits of `path` itself, 0 where there is nothing.
func mode(_ path: String) -> mode_t {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

func contents(_ path: String) -> String? {
  FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
}

func write(_ text: String, to path: String, mode: mode_t = 0o600) {
  _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8))
  chmod(path, mode)
}
