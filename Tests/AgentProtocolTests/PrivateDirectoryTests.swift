import AgentProtocol
import FoundationEssentials
import Glibc
import Testing

@Suite final class PrivateDirectoryTests {
  private let root: String

  init() throws {
    var template = Array("/tmp/imctl-test-XXXXXX".utf8CString)
    root = String(cString: try #require(mkdtemp(&template)))
  }

  deinit { _ = try? FileManager.default.removeItem(atPath: root) }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  @Test("A private directory is created with mode 0700, together with its missing parents.")
  func made() throws {
    try PrivateDirectory.ensure(root + "/a/b/c")
    #expect(mode(root + "/a/b/c") == 0o700)
    try PrivateDirectory.verify(root + "/a/b/c")
    try PrivateDirectory.ensure(root + "/a/b/c")
  }

  @Test("A directory that other users can enter is repaired by ensure and refused by verify.")
  func repaired() throws {
    let path = root + "/open"
    mkdir(path, 0o777)
    chmod(path, 0o777)
    #expect(throws: Failure.self) { try PrivateDirectory.verify(path) }
    #expect(mode(path) == 0o777)
    try PrivateDirectory.ensure(path)
    #expect(mode(path) == 0o700)
  }

  @Test("A symbolic link or a file in place of the directory is refused with its path.")
  func refused() throws {
    let link = root + "/link"
    symlink(root, link)
    let file = root + "/file"
    close(open(file, O_CREAT | O_WRONLY, 0o600))
    for path in [link, file] {
      do {
        try PrivateDirectory.ensure(path)
        Issue.record("accepted \(path)")
      } catch {
        #expect(error.name == .databaseError && error.exit == 73)
        #expect(error.message.contains(path))
      }
    }
    #expect(throws: Failure.self) { try PrivateDirectory.verify(root + "/none") }
  }

  @Test("A directory of another user is refused.")
  func foreign() throws {
    let path = geteuid() == 0 ? root + "/theirs" : "/usr"
    if geteuid() == 0 {
      mkdir(path, 0o700)
      chown(path, 12345, 12345)
    }
    #expect(throws: Failure.self) { try PrivateDirectory.ensure(path) }
  }
}
