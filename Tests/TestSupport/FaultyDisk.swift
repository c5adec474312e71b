import FoundationEssentials
import Glibc

/// A library that makes the disk below a process's local store fail when it is told to.
public struct FaultyDisk: Sendable {
  /// What loads it into a process and all that it starts.
  public let environment: [String: String?]
  private let order: String

  /// Compiles it into a directory.
  public init(in directory: String) async throws {
    let library = directory + "/faulty_disk.so"
    order = directory + "/faulty_disk"
    let compiler = try await ChildProcess(
      "/usr/bin/gcc", ["-shared", "-fPIC", "-O", "-o", library, Script.path("faulty_disk.c")])
    guard try await compiler.ended(within: .seconds(60)) == .exited(0) else {
      throw TestSupportError("gcc: \(compiler.errors.text)")
    }
    environment = ["LD_PRELOAD": library, "FAULTY_DISK": order]
  }

  /// Kills the process that is about to make its `count`-th write from now on.
  public func kill(atWrite count: Int) throws { try Data("\(count)\n".utf8).write(to: URL(filePath: order)) }

  /// No write finds room until ``works()``.
  public func isFull() throws { try Data("full\n".utf8).write(to: URL(filePath: order)) }

  /// Nothing can be written until ``works()``.
  public func isReadOnly() throws { try Data("readonly\n".utf8).write(to: URL(filePath: order)) }

  public func works() { unlink(order) }

  /// ``kill(atWrite:)`` was called, and no process has come that far yet.
  public var isWaiting: Bool { access(order, F_OK) == 0 }
}
