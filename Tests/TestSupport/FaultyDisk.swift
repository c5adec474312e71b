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
  public func kill(atWrite count: Int) throws { try tell("\(count)") }

  /// No write finds room until ``works()``.
  public func isFull() throws { try tell("full") }

  /// Nothing can be written until ``works()``.
  public func isReadOnly() throws { try tell("readonly") }

  public func works() { unlink(order) }

  /// At once: a write that finds half of it would be counted and not fail.
  private func tell(_ word: String) throws {
    try Data("\(word)\n".utf8).write(to: URL(filePath: order), options: .atomic)
  }

  /// ``kill(atWrite:)`` was called, and no process has come that far yet.
  public var isWaiting: Bool { access(order, F_OK) == 0 }
}
